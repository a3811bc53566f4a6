package emit

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
)

// stagingFolder holds the new files before they are put in place, and the replaced and removed files until the change is
// complete. It is below the program's folder, so that every move is a rename within one file system. Where the file
// system has no locks, it also keeps a second hirgen out.
const stagingFolder = ".hirgen-staging"

// atStep is called between the steps of a change to the folder. Tests replace it to kill the process there.
var atStep = func() {}

// apply carries out a plan, all or nothing: if a step fails, it undoes the earlier steps. If only the removal of
// the staging folder fails, apply returns that error and keeps the new files.
func apply(root *os.Root, p *plan) (err error) {
	if err := root.Mkdir(stagingFolder, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return &FolderError{
				root.Name(), "another hirgen writes to it, or one was interrupted", "if none is running, remove " + stagingFolder + " there",
			}
		}
		return err
	}
	atStep()
	t := &transaction{root: root, folders: map[string]bool{".": true}}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.rollBack())
		}
		err = errors.Join(err, root.RemoveAll(stagingFolder))
	}()
	for i, f := range p.write {
		if err := t.stage(i, f); err != nil {
			return err
		}
	}
	if err := writeJournal(root, p); err != nil {
		return err
	}
	atStep()
	for i, f := range p.write {
		if err := t.replace(i, f.Path, p.found[f.Path] == missing); err != nil {
			return err
		}
	}
	for i, name := range p.remove {
		if err := t.moveAway(name, keptName(len(p.write)+i)); err != nil {
			return err
		}
	}
	// All files are in place. The removal of the journal commits them: after it, a later Write does not undo them.
	atStep()
	if err := root.Remove(path.Join(stagingFolder, journalName)); err != nil {
		return err
	}
	atStep()
	t.removeEmptyFolders(p.remove)
	return nil
}

// A transaction remembers how to undo the steps so far.
type transaction struct {
	root    *os.Root
	folders map[string]bool // paths of folders that are known to exist
	undo    []func() error
}

// stage writes a new file to the staging folder.
func (t *transaction) stage(i int, f File) error {
	return t.root.WriteFile(stagedName(i), f.Data, 0o644)
}

// stagedName and keptName return the paths in the staging folder of new file i and of the file that it replaces. The
// numbers of removed files follow the numbers of all new files.
func stagedName(i int) string { return path.Join(stagingFolder, "new"+strconv.Itoa(i)) }
func keptName(i int) string   { return path.Join(stagingFolder, "old"+strconv.Itoa(i)) }

// replace moves staged file i to its path. Unless missing is true, it first moves the old file from there to the
// staging folder.
func (t *transaction) replace(i int, name string, missing bool) error {
	if err := t.makeFolders(path.Dir(name)); err != nil {
		return err
	}
	if !missing {
		if err := t.moveAway(name, keptName(i)); err != nil {
			return err
		}
	}
	if err := t.root.Rename(stagedName(i), name); err != nil {
		return err
	}
	atStep()
	t.undo = append(t.undo, func() error { return t.root.Remove(name) })
	return nil
}

// makeFolders makes a folder and the missing folders above it, one by one.
func (t *transaction) makeFolders(folder string) error {
	if t.folders[folder] {
		return nil
	}
	if err := t.makeFolders(path.Dir(folder)); err != nil {
		return err
	}
	err := t.root.Mkdir(folder, 0o755)
	if err == nil {
		t.undo = append(t.undo, func() error { return t.root.Remove(folder) })
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	t.folders[folder] = true
	return nil
}

// moveAway moves a file, if it exists, to another path. It moves a symbolic link as a link and leaves the target
// alone. A folder at name is an error.
func (t *transaction) moveAway(name, kept string) error {
	info, err := t.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return isFolder(t.root, name)
	}
	if err := t.root.Rename(name, kept); err != nil {
		return err
	}
	atStep()
	t.undo = append(t.undo, func() error { return t.root.Rename(kept, name) })
	return nil
}

// isFolder returns the error for a folder that has the path of a file.
func isFolder(root *os.Root, name string) error {
	return &FolderError{root.Name(), name + " is a folder, and a file of the program has that name", "remove it, or use another folder"}
}

// rollBack undoes all steps of the transaction, last step first.
func (t *transaction) rollBack() error {
	var failures []error
	for i := len(t.undo) - 1; i >= 0; i-- {
		failures = append(failures, t.undo[i]())
	}
	t.undo = nil
	return errors.Join(failures...)
}

// removeEmptyFolders removes the empty folders above the paths of files that are gone (orphans), innermost first. Remove
// fails on a folder that is not empty, which keeps it and the folders above it.
func (t *transaction) removeEmptyFolders(orphans []string) {
	for _, name := range orphans {
		for folder := path.Dir(name); folder != "."; folder = path.Dir(folder) {
			if t.root.Remove(folder) != nil {
				break
			}
		}
	}
}
