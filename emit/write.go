package emit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// WriteOptions are the options of Write.
type WriteOptions struct {
	// Force overwrites foreign files, edited files and another program.
	Force bool
}

// A RefusalError lists the files that Write refuses to change. Write then makes no changes.
type RefusalError struct {
	Dir   string
	Files []string // sorted; each with the reason: "ag_matmul.cpp was edited"
}

// Error names a few of the files, and says what to do.
func (e *RefusalError) Error() string {
	return fmt.Sprintf("%s: %s; nothing was written. Use --force to overwrite, or another folder", e.Dir, fewOf(e.Files))
}

// Write brings a folder up to date with files and returns the sorted paths of changed and removed files, or nil if
// there are none. It writes the files that differ, all or nothing. It removes the files of an earlier Write that are no
// longer part of the program. Without Force, the error wraps a *RefusalError if a file to change was edited or not
// written by hirgen, and a *FolderError if the folder has foreign files or another program. Write follows symbolic links
// only inside the folder. Where the file system has locks, concurrent Writes wait for each other, at most lockPatience,
// and Write first undoes an interrupted Write.
func Write(dir string, files []File, opt WriteOptions) (changed []string, err error) {
	if err := errors.Join(checkPaths(files), checkFolder(dir), CheckPath(dir)); err != nil {
		return nil, err
	}
	created, err := makeFolder(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			removeEmpty(created)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	held, release, err := lock(root)
	if err != nil {
		return nil, err
	}
	defer release()
	plan, err := prepare(root, files, opt.Force, held)
	if err != nil {
		return nil, err
	}
	if len(plan.refused) > 0 && !opt.Force {
		return nil, &RefusalError{Dir: dir, Files: plan.refused}
	}
	if len(plan.write)+len(plan.remove) == 0 {
		return nil, nil
	}
	if err := apply(root, plan); err != nil {
		return nil, err
	}
	return plan.changed(), nil
}

// prepare undoes an interrupted Write, if the folder is locked, and plans the changes to the folder. Without force it
// refuses folders with foreign files or another program.
func prepare(root *os.Root, files []File, force, locked bool) (*plan, error) {
	if locked {
		if err := cleanUp(root); err != nil {
			return nil, err
		}
	}
	if !force {
		if err := errors.Join(checkForeign(root, files), checkProgram(root, files)); err != nil {
			return nil, err
		}
	}
	return compare(root, files, force)
}

// makeFolder makes dir and returns the folders that it created, innermost first.
func makeFolder(dir string) (created []string, err error) {
	for parent := dir; ; parent = filepath.Dir(parent) {
		if _, err := os.Stat(parent); err == nil || parent == filepath.Dir(parent) {
			break
		}
		created = append(created, parent)
	}
	return created, os.MkdirAll(dir, 0o755)
}

// removeEmpty removes folders, innermost first, up to the first one that is not empty.
func removeEmpty(folders []string) {
	for _, folder := range folders {
		if os.Remove(folder) != nil {
			return
		}
	}
}

// checkPaths refuses paths that leave the folder.
func checkPaths(files []File) error {
	for _, f := range files {
		if !isLocal(f.Path) {
			return fmt.Errorf("internal error: %q is not a path inside the folder", f.Path)
		}
	}
	return nil
}

// readManifest reads the manifest of an earlier Write. It returns nil if there is none.
func readManifest(root *os.Root) (*manifest, error) {
	data, err := root.ReadFile(ManifestName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	m, err := parseManifest(data)
	if err != nil {
		return nil, &FolderError{root.Name(), err.Error(), "use --force to write all files anew, or another folder"}
	}
	return m, nil
}

// Check compares a folder with files and writes nothing. Stale files are missing or older than the program. Orphaned
// files are no longer part of the program. Edits are files that were edited, or that hirgen did not write. The lists
// are sorted, except if there is no folder: then all files are stale, in the order of files.
func Check(dir string, files []File) (stale, orphaned, edits []string, err error) {
	if err := checkPaths(files); err != nil {
		return nil, nil, nil, err
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		for _, f := range files {
			stale = append(stale, f.Path)
		}
		return stale, nil, nil, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	p, err := compare(root, files, false)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, f := range p.write {
		if s := p.found[f.Path]; s == edited || s == foreign {
			edits = append(edits, f.Path)
		} else {
			stale = append(stale, f.Path)
		}
	}
	slices.Sort(stale)
	slices.Sort(edits)
	return stale, p.remove, edits, nil
}
