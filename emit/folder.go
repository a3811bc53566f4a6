package emit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hirgen/hirgen/internal/base/filelock"
)

// A FolderError is the reason why a folder cannot be used, with advice.
type FolderError struct{ Dir, Reason, Advice string }

func (e *FolderError) Error() string { return fmt.Sprintf("%s: %s; %s", e.Dir, e.Reason, e.Advice) }

// systemFolders are never used for a program, even if they are empty.
var systemFolders = strings.Fields(`/ /bin /boot /dev /etc /home /lib /lib64 /proc /root /run /sbin /sys /tmp /usr /var
	/usr/bin /usr/lib /usr/local /usr/local/bin /usr/share /var/lib /var/tmp`)

// checkFolder refuses the root, system folders, the user's home folder and its parents, even with WriteOptions.Force.
func checkFolder(dir string) error {
	place, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	const advice = `name a folder for the program alone, as in "-o out"`
	home, _ := os.UserHomeDir()
	for _, path := range []string{place, resolved(place)} {
		if slices.Contains(systemFolders, path) || path == filepath.VolumeName(path)+string(filepath.Separator) {
			return &FolderError{dir, "it is a folder of the system", advice}
		}
		for around := home; around != "" && around != filepath.Dir(around); around = filepath.Dir(around) {
			if path == around || path == resolved(around) {
				return &FolderError{dir, "it is your home folder, or one around it", advice}
			}
		}
	}
	return nil
}

// unbuildable are the characters with which a path cannot be built. CMake expands $, and ; and brackets have a meaning
// in its lists. The linker separates options by commas. The build files that CMake writes do not quote the other
// characters.
const unbuildable = "$;,[]\"\\|<>\n\r"

// CheckPath refuses a folder if CMake or the linker cannot build there because of its path.
func CheckPath(dir string) error {
	place, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	for _, r := range place + resolved(place) {
		if strings.ContainsRune(unbuildable, r) {
			return &FolderError{dir, fmt.Sprintf("CMake or the linker cannot build in a folder whose path has %q", r),
				"use another folder, as in \"-o out\""}
		}
	}
	return nil
}

// resolved returns a path without symbolic links if the path exists, and the path itself otherwise.
func resolved(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return path
}

// checkForeign refuses a folder without a manifest if its top level has files or folders whose names the program does
// not use.
func checkForeign(root *os.Root, files []File) error {
	if _, err := root.Lstat(ManifestName); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	found, err := folder.Readdirnames(-1)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, f := range files {
		top, _, _ := strings.Cut(f.Path, "/")
		ours[top] = true
	}
	foreign := slices.DeleteFunc(found, func(name string) bool { return ours[name] })
	if len(foreign) == 0 {
		return nil
	}
	slices.Sort(foreign)
	for i, name := range foreign {
		foreign[i] = fmt.Sprintf("%q", name)
	}
	return &FolderError{
		root.Name(), "it is not a program's folder, it holds " + fewOf(foreign),
		"use an empty or a new folder, or --force to write beside what is there",
	}
}

// checkProgram refuses a folder whose manifest is of another program, which Write would replace. The name identifies
// a program, so a program whose spec was edited or moved stays the same program.
func checkProgram(root *os.Root, files []File) error {
	recorded, err := readManifest(root)
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == ManifestName })
	if err != nil || recorded == nil || i < 0 {
		return err
	}
	m, err := parseManifest(files[i].Data)
	if err != nil || m.Program == recorded.Program {
		return err
	}
	return &FolderError{
		root.Name(), fmt.Sprintf("it holds another program, %s of %s, and not %s", recorded.Program, recorded.Spec, m.Program),
		"use -o with another folder, or --force to replace that program",
	}
}

// fewOf lists at most five elements of a list and counts the rest.
func fewOf(list []string) string {
	if len(list) > 5 {
		return fmt.Sprintf("%s, and %d more", strings.Join(list[:5], ", "), len(list)-5)
	}
	return strings.Join(list, ", ")
}

// lockPatience is how long Write waits for another Write in the same folder. A Write takes milliseconds unless it
// hangs. Tests shorten it.
var lockPatience = defaultLockPatience

const defaultLockPatience = 30 * time.Second

// lock keeps other Writes out of a folder until release is called. If another Write has the lock, this function waits
// for up to lockPatience and then returns a *FolderError. Where the file system has no locks, held is false, and only
// the staging folder keeps other Writes out.
func lock(root *os.Root) (held bool, release func(), err error) {
	folder, err := root.Open(".")
	if err != nil {
		return false, nil, err
	}
	release = func() { _ = folder.Close() }
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if held, err = filelock.Hold(ctx, folder, nil); err != nil {
		release()
		return false, nil, &FolderError{
			root.Name(), "another hirgen writes to it for " + lockPatience.String() + " already", "wait until it has ended, or use another folder",
		}
	}
	return held, release, nil
}
