package emit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sort"
)

// A plan is the list of changes to a folder.
type plan struct {
	write   []File           // in order; the manifest comes last
	found   map[string]state // states on disk of the files in write, by path
	remove  []string         // files of the manifest that are no longer part of the program
	refused []string         // reasons to refuse the plan, in words; Write ignores them with Force
}

func (p *plan) changed() []string {
	list := slices.Clone(p.remove)
	for _, f := range p.write {
		list = append(list, f.Path)
	}
	slices.Sort(list)
	return list
}

// compare plans the changes that bring a folder up to date with files. The plan lists edited and foreign files as
// reasons to refuse. A damaged manifest is an error or, with force, is treated as missing.
func compare(root *os.Root, files []File, force bool) (*plan, error) {
	recorded, err := readManifest(root)
	if err != nil && !force {
		return nil, err
	}
	known := recorded.digests()
	p := &plan{found: map[string]state{}}
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.Path] = true
		found, err := inspect(root, f, known)
		if err != nil {
			return nil, err
		}
		switch found {
		case same:
			continue
		case edited:
			p.refused = append(p.refused, f.Path+" was edited")
		case foreign:
			p.refused = append(p.refused, f.Path+" was not written by hirgen")
		}
		p.write, p.found[f.Path] = append(p.write, f), found
	}
	for name := range known {
		if wanted[name] {
			continue
		}
		data, err := root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case digest(data) != known[name]:
			p.refused = append(p.refused, name+" was edited and is no longer part of the program")
		}
		p.remove = append(p.remove, name)
	}
	sort.SliceStable(p.write, func(i, j int) bool { return p.write[i].Path != ManifestName && p.write[j].Path == ManifestName })
	slices.Sort(p.remove)
	slices.Sort(p.refused)
	return p, nil
}

// state is how a file on disk compares with the file to write.
type state int

const (
	same    state = iota
	missing       // the file does not exist
	old           // an earlier version, as hirgen wrote it; or any other manifest
	edited        // written by hirgen, changed since
	foreign       // not in the manifest
)

// inspect compares one file with the file on disk. known maps the paths of the manifest to digests. A folder at
// the path is an error.
func inspect(root *os.Root, f File, known map[string]string) (state, error) {
	if info, err := root.Stat(f.Path); err == nil && info.IsDir() {
		return same, isFolder(root, f.Path)
	}
	data, err := root.ReadFile(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing, nil
	case err != nil:
		return same, err
	case bytes.Equal(data, f.Data):
		return same, nil
	case f.Path == ManifestName:
		return old, nil
	}
	was, ours := known[f.Path]
	switch {
	case !ours:
		return foreign, nil
	case was != digest(data):
		return edited, nil
	default:
		return old, nil
	}
}
