package emit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// A Record is what a folder says of its making.
type Record struct {
	Hirgen  string   // version
	Program string   // name
	Spec    string   // base name
	Ranks   int      // that run the program; 0 in a folder that does not say it
	Flags   []string // given beside it, but for those of Packages
	Packages
}

// A Difference is a file of a folder that is not what it would be printed as now.
type Difference struct {
	Path  string
	State DifferenceState
	Line  int    // the first that differs, counted from 1; 0 in a file that is missing, and in calls that were edited
	Lines int    // of the file that differ from Line on; 0: lines are missing there
	Has   string // the first of them
	Want  string // what would be printed in its place
}

// DifferenceState says how a file came to differ.
type DifferenceState string

// The states.
const (
	Missing DifferenceState = "missing" // somebody removed it
	Edited  DifferenceState = "edited"  // somebody changed it, or made it
	Stale   DifferenceState = "stale"   // it is as hirgen wrote it, of another version
)

// ReadRecord reads what a folder says of its making. The error is a *FolderError where hirgen did
// not write it.
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

// Differences compares a folder with files, but for the manifest, in their order. Files that are
// printed from the folder's own calls cannot tell that these were edited; the manifest can.
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
			list = append(list, Difference{Path: f.Path, State: Missing})
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

// difference is where a file differs from data, which is as hirgen wrote it or not.
func difference(f File, data []byte, asWritten bool) Difference {
	has, want := strings.Split(string(data), "\n"), strings.Split(string(f.Data), "\n")
	first, behind := 0, 0 // equal lines at both ends
	for first < min(len(has), len(want)) && has[first] == want[first] {
		first++
	}
	for behind < min(len(has), len(want))-first && has[len(has)-1-behind] == want[len(want)-1-behind] {
		behind++
	}
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
