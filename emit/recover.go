package emit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// journalName is the name of the journal in the staging folder. It lists the files that a Write replaces, adds or
// removes. It exists from before the first of these changes until after the last one.
const journalName = "journal.json"

// A journalEntry is one change to a file. If Write replaces or removes the file, it moves the old file to Old in the
// staging folder. If Write adds the file, the new file is at New in the staging folder until Write moves it to Path.
type journalEntry struct {
	Path string `json:"path"`
	New  string `json:"new,omitempty"`
	Old  string `json:"old,omitempty"`
}

// writeJournal records the planned changes, so that a later Write can undo them.
func writeJournal(root *os.Root, p *plan) error {
	var entries []journalEntry
	for i, f := range p.write {
		entry := journalEntry{Path: f.Path, Old: keptName(i)}
		if p.found[f.Path] == missing {
			entry = journalEntry{Path: f.Path, New: stagedName(i)}
		}
		entries = append(entries, entry)
	}
	for i, name := range p.remove {
		entries = append(entries, journalEntry{Path: name, Old: keptName(len(p.write) + i)})
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	unfinished := path.Join(stagingFolder, "unfinished.json")
	if err := root.WriteFile(unfinished, data, 0o644); err != nil {
		return err
	}
	return root.Rename(unfinished, path.Join(stagingFolder, journalName))
}

// cleanUp undoes an interrupted Write and removes the staging folder. A damaged journal is an error. The caller holds
// the lock, so no other Write is running.
func cleanUp(root *os.Root) error {
	info, err := root.Lstat(stagingFolder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return &FolderError{root.Name(), stagingFolder + " is in the way", "remove it"}
	}
	data, err := root.ReadFile(path.Join(stagingFolder, journalName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		var entries []journalEntry
		if err := json.Unmarshal(data, &entries); err != nil {
			return &FolderError{
				root.Name(), fmt.Sprintf("an interrupted hirgen left %s, and its journal is damaged: %v", stagingFolder, err),
				"move what you need out of it and remove it",
			}
		}
		if err := undo(root, entries); err != nil {
			return err
		}
	}
	return root.RemoveAll(stagingFolder)
}

// undo restores files. It works for any subset of the entries that was carried out or undone before. An old file was
// moved away if it is in the staging folder. A new file was put in place if it is not in the staging folder.
func undo(root *os.Root, entries []journalEntry) error {
	t := &transaction{root: root}
	for _, e := range entries {
		var err error
		switch {
		case !isLocal(e.Path):
			err = &FolderError{root.Name(), fmt.Sprintf("the journal in %s names %q", stagingFolder, e.Path), "remove " + stagingFolder}
		case e.Old != "" && fileExists(root, e.Old):
			err = errors.Join(root.MkdirAll(path.Dir(e.Path), 0o755), root.Rename(e.Old, e.Path))
		case e.New != "" && !fileExists(root, e.New):
			if err = root.Remove(e.Path); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			t.removeEmptyFolders([]string{e.Path})
		case e.New != "":
			t.removeEmptyFolders([]string{e.Path})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func fileExists(root *os.Root, name string) bool {
	_, err := root.Lstat(name)
	return err == nil
}
