package emit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteRefusesFoldersOfOthers(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "letter.txt", "precious")
	put(t, dir, "photos/1.jpg", "precious")
	before := tree(t, dir)
	_, err := Write(dir, version(t, firstVersion), WriteOptions{})
	var refused *FolderError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(),
		`it holds "letter.txt", "photos"; use an empty or a new folder, or --force`) {
		t.Errorf("got %v", err)
	}
	if !equal(before, tree(t, dir)) {
		t.Error("something was written")
	}
	if _, err := Write(dir, version(t, firstVersion), WriteOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, dir, version(t, secondVersion)) // from here on the folder is hirgen's
	if got := tree(t, dir); got["letter.txt"] != "precious" || got["photos/1.jpg"] != "precious" || got["a.cpp"] != "a2" {
		t.Errorf("the folder holds %v", got)
	}
}

// TestWriteRefusesFoldersOfOtherPrograms checks that a folder belongs to one program, even if its spec
// changes.
func TestWriteRefusesFoldersOfOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, versionOf(t, "first", firstVersion))
	mustWrite(t, dir, versionOf(t, "first", secondVersion))
	before := tree(t, dir)
	_, err := Write(dir, versionOf(t, "second", firstVersion), WriteOptions{})
	var refused *FolderError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(),
		"another program, first of spec.yaml, and not second; use -o with another folder, or --force") {
		t.Errorf("got %v", err)
	}
	if !equal(before, tree(t, dir)) {
		t.Error("something was written")
	}
	if _, err := Write(dir, versionOf(t, "second", firstVersion), WriteOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, dir, versionOf(t, "second", secondVersion)) // from here on the folder belongs to the second program
}

// TestWriteTakesFoldersWithoutForeignFiles writes to a folder without a manifest that has only files of
// the program, such as a clone.
func TestWriteTakesFoldersWithoutForeignFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "runtime/src/c.cpp", "c1")
	put(t, dir, "a.cpp", "a1")
	mustWrite(t, dir, version(t, firstVersion))
}

func TestWriteRefusesFoldersThatCannotBeBuilt(t *testing.T) {
	parent := t.TempDir()
	for _, r := range unbuildable {
		for _, path := range []string{"a" + string(r), string(r) + "/b"} {
			_, err := Write(filepath.Join(parent, path), version(t, firstVersion), WriteOptions{Force: true})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("path has %q", r)) || len(tree(t, parent)) > 0 {
				t.Errorf("%q: got %v", path, err)
			}
		}
	}
	mustWrite(t, filepath.Join(parent, "it's (a) #1 é %&*?:"), version(t, firstVersion))
}

func TestWriteRefusesFoldersOfTheSystem(t *testing.T) {
	home := filepath.Join(t.TempDir(), "users", "me")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(home)
	for dir, want := range map[string]string{
		"/": "a folder of the system", "//": "a folder of the system", "/etc": "a folder of the system", "/usr/../tmp/": "a folder of the system",
		link: "a folder of the system", home: "your home folder", ".": "your home folder", "..": "your home folder",
	} {
		if err := checkFolder(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "-o out") {
			t.Errorf("%s: got %v", dir, err)
		}
	}
	if _, err := Write(home, version(t, firstVersion), WriteOptions{Force: true}); err == nil || len(tree(t, home)) > 0 {
		t.Error("Force takes the home folder")
	}
	mustWrite(t, "out", version(t, firstVersion))
}
