// Package cache is the folder in which programs of this machine share what takes long to build: compiled
// runtimes, which CMake leaves in runtime/, and Python packages, which hirgen.load leaves in python/.
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

// Variable is what says where the folder is; Off in it says that nothing is shared.
const (
	Variable = "HIRGEN_CACHE"
	Off      = "off"
)

// Folder is where the cache is: $HIRGEN_CACHE, else hirgen in $XDG_CACHE_HOME, else ~/.cache/hirgen. Without a
// folder, why says what is to blame.
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

// Entry is a compiled runtime or a Python package.
type Entry struct {
	Name string // below the folder
	Size int64
	Made time.Time
}

// Entries are what the folder has, the newest first.
func Entries(folder string) ([]Entry, error) {
	var entries []Entry
	err := each(folder, func(path string) error {
		if strings.HasSuffix(path, ".lock") {
			return nil
		}
		entry, err := measure(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process took it away
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

// Clear removes what Entries lists, and the files that builds lock. What is built meanwhile is left whole: it
// appears when it is finished. Programs that are built need the folder no more.
func Clear(folder string) error { return each(folder, os.RemoveAll) }

// each calls do for what hirgen left in the folder. It may be a user's, with other files: names tell.
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

// escape makes a path a pattern that matches itself alone.
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
