// Package cache lists and clears the folder in which programs of this machine share files that take long to build.
// These files are the compiled runtimes and the libraries of the CPU device, which CMake stores in runtime/, and the
// Python packages, which hirgen.load stores in python/.
package cache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Variable is the environment variable that names the folder. The value Off, in upper or lower case, disables
// sharing.
const (
	Variable = "HIRGEN_CACHE"
	Off      = "off"
)

// Folder returns the absolute path of the cache: $HIRGEN_CACHE, else hirgen in $XDG_CACHE_HOME, else ~/.cache/hirgen. If
// the cache is off or its path is unknown, folder is empty and why has the reason.
func Folder() (folder, why string) {
	switch set := os.Getenv(Variable); {
	case strings.EqualFold(set, Off):
		return "", Variable + "=" + set
	case set != "":
		absolute, err := filepath.Abs(set)
		if err != nil {
			return "", err.Error()
		}
		return absolute, ""
	}
	// The XDG specification has programs ignore relative paths.
	if set := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(set) {
		return filepath.Join(set, "hirgen"), ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err.Error()
	}
	return filepath.Join(home, ".cache", "hirgen"), ""
}

// Entry is a compiled runtime, a library of the CPU device, or a Python package.
type Entry struct {
	Name string    // path relative to the cache folder
	Size int64     // bytes of all its files
	Made time.Time // last modification of the file or folder Name
}

// Entries lists the entries of a cache folder, the newest first, without lock files and packages that are being built.
func Entries(folder string) ([]Entry, error) {
	var entries []Entry
	err := each(folder, func(path string) error {
		if strings.HasSuffix(path, ".lock") {
			return nil
		}
		entry, err := measure(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process removed it
		}
		entry.Name, _ = filepath.Rel(folder, path)
		entries = append(entries, entry)
		return err
	})
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.Made.Compare(a.Made), cmp.Compare(a.Name, b.Name))
	})
	return entries, err
}

// Clear removes the entries and the lock files of a cache folder. It keeps packages that are being built, and files with
// other names than entries have. Compiled programs do not need the cache, because they have copies of its libraries.
func Clear(folder string) error { return each(folder, os.RemoveAll) }

// each calls do for each entry and lock file of a cache folder, up to the first error. It selects them by their names,
// because the folder may also contain files of the user.
func each(folder string, do func(path string) error) error {
	for _, pattern := range []string{"runtime/libhirgen_*", "python/" + strings.Repeat("[0-9a-f]", 16) + "*"} {
		found, err := filepath.Glob(filepath.Join(escape(folder), pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if strings.HasSuffix(path, ".part") {
				continue // a package that is being built
			}
			if err := do(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// escape returns a glob pattern that matches only the path.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func measure(path string) (Entry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Entry{}, err
	}
	entry := Entry{Made: info.ModTime()}
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			entry.Size += info.Size()
		}
		return err
	})
	return entry, err
}
