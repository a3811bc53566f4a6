package emit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/hirgen/hirgen/internal/base/textdiff"
)

// A Record describes how a folder was made: the hirgen version, the program and the flags.
type Record struct {
	Hirgen  string   // version of hirgen
	Program string   // name of the program
	Spec    string   // base name of the spec's file
	Ranks   int      // number of ranks of the program; 0 if the folder does not record it
	Flags   []string // flags -p, --schedule and --machine of the emit command
	Packages
}

// A Difference is a file of a folder that is missing or differs from the file that hirgen would print now, or a calls.txt
// that was edited.
type Difference struct {
	Path  string
	State DifferenceState
	Line  int    // line of the first difference, from 1; 0 for a missing file and for edited calls
	Lines int    // number of lines of the folder's file that differ, from Line on; 0: the file only lacks lines, or Line is 0
	Has   string // the line at Line; empty if the file only lacks lines there
	Want  string // the line that hirgen would print there; empty if the file only has more lines
}

// A DifferenceState is the reason why a file differs.
type DifferenceState string

// The values of DifferenceState.
const (
	Missing DifferenceState = "missing" // the manifest lists it, and it was removed
	Edited  DifferenceState = "edited"  // changed since hirgen wrote it, or not written by hirgen
	Stale   DifferenceState = "stale"   // unchanged since hirgen wrote it, or missing and not in the manifest
)

// ReadRecord reads the record of a folder. The error is or wraps a *FolderError if the folder has no manifest, or a
// damaged one.
func ReadRecord(dir string) (*Record, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(root)
	if err := errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, &FolderError{dir, "it has no " + ManifestName, "name a folder that hirgen emit wrote"}
	}
	packages, flags := takePackages(m.Flags)
	return &Record{m.Hirgen, m.Program, m.Spec, m.Ranks, flags, packages}, nil
}

// Differences compares a folder with files, except the manifest, in the order of files. It ignores other files of the
// folder. The files may be printed from the folder's own calls.txt. An edit of calls.txt then shows only as a digest
// that differs from the manifest's.
func Differences(dir string, files []File) (list []Difference, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	recorded, err := readManifest(root)
	if err != nil {
		return nil, err
	}
	known := recorded.digests()
	for _, f := range files {
		if f.Path == ManifestName {
			continue
		}
		data, err := root.ReadFile(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			state := Missing
			if known[f.Path] == "" {
				state = Stale
			}
			list = append(list, Difference{Path: f.Path, State: state})
		case err != nil:
			return nil, err
		case !bytes.Equal(data, f.Data):
			list = append(list, difference(f, data, known[f.Path] == digest(data)))
		case f.Path == CallsName && known[f.Path] != digest(data):
			list = append(list, Difference{Path: f.Path, State: Edited})
		}
	}
	return list, nil
}

// difference describes how a file on disk, with content data, differs from f. asWritten: data is unchanged since
// hirgen wrote it.
func difference(f File, data []byte, asWritten bool) Difference {
	has, want := strings.Split(string(data), "\n"), strings.Split(string(f.Data), "\n")
	first, behind := textdiff.Common(has, want)
	d := Difference{Path: f.Path, State: Edited, Line: first + 1, Lines: len(has) - first - behind}
	if asWritten {
		d.State = Stale
	}
	if first < len(has)-behind {
		d.Has = has[first]
	}
	if first < len(want)-behind {
		d.Want = want[first]
	}
	return d
}
