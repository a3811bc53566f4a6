package emit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
)

// version returns the files of a version of a program named p, with their manifest.
func version(t *testing.T, contents map[string]string) []File {
	t.Helper()
	return versionOf(t, "p", contents)
}

// versionOf returns the files of a version of a program with a given name.
func versionOf(t *testing.T, program string, contents map[string]string) []File {
	t.Helper()
	var files []File
	for path, text := range contents {
		files = append(files, File{path, []byte(text)})
	}
	files, err := withManifest(files, &programView{Program: &calls.Program{Name: program}, Spec: "spec.yaml", Version: "devel"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// tree returns the files of a folder: path -> content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func mustWrite(t *testing.T, dir string, files []File) []string {
	t.Helper()
	changed, err := Write(dir, files, WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func put(t *testing.T, dir, path, text string) {
	t.Helper()
	full := filepath.Join(dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

var (
	firstVersion  = map[string]string{"a.cpp": "a1", "b.cpp": "b1", "runtime/src/c.cpp": "c1"}
	secondVersion = map[string]string{"a.cpp": "a2", "b.cpp": "b1", "new/d.cpp": "d1"}
)

func TestWriteChangesOnlyWhatDiffers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "out")
	if got, want := mustWrite(t, dir, version(t, firstVersion)), 4; len(got) != want {
		t.Fatalf("%d files written, want %d", len(got), want)
	}
	before, err := os.Stat(filepath.Join(dir, "b.cpp"))
	if err != nil {
		t.Fatal(err)
	}
	if again := mustWrite(t, dir, version(t, firstVersion)); len(again) != 0 {
		t.Errorf("the same files again change %v", again)
	}
	changed := mustWrite(t, dir, version(t, secondVersion))
	if want := []string{"a.cpp", ManifestName, "new/d.cpp", "runtime/src/c.cpp"}; !slices.Equal(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
	after, err := os.Stat(filepath.Join(dir, "b.cpp"))
	if err != nil || !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		t.Error("a file that did not change was written: builds would start over")
	}
	if _, err := os.Stat(filepath.Join(dir, "runtime")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the folder of an orphan is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, stagingFolder)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the staging folder is still there")
	}
}

func TestWriteRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, text, reason string }{
		"an edited file":       {"a.cpp", "mine", "a.cpp was edited"},
		"a foreign file":       {"new/d.cpp", "mine", "new/d.cpp was not written by hirgen"},
		"an edited orphan":     {"runtime/src/c.cpp", "mine", "no longer part of the program"},
		"a damaged manifest":   {ManifestName, "{", "--force to write all files anew"},
		"a manifest that lies": {ManifestName, `{"files":[{"path":"../x","sha256":""}]}`, "not a path inside"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustWrite(t, dir, version(t, firstVersion))
			put(t, dir, c.file, c.text)
			before := tree(t, dir)
			_, err := Write(dir, version(t, secondVersion), WriteOptions{})
			if err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Fatalf("error %v, want one with %q", err, c.reason)
			}
			if after := tree(t, dir); !equal(before, after) {
				t.Errorf("something was written: %v, before %v", after, before)
			}
			if _, err := Write(dir, version(t, secondVersion), WriteOptions{Force: true}); err != nil {
				t.Fatalf("with Force: %v", err)
			}
			if after := tree(t, dir); after["a.cpp"] != "a2" || after["new/d.cpp"] != "d1" {
				t.Errorf("Force left %v", after)
			}
		})
	}
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func TestWriteAdoptsIdenticalFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.cpp", "a1")
	mustWrite(t, dir, version(t, firstVersion))
}

func TestWriteIsAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, version(t, firstVersion))
	before := tree(t, dir)
	// The file z/blocked cannot be put where a folder is.
	blocked := map[string]string{"a.cpp": "a2", "z/blocked": "x"}
	if err := os.MkdirAll(filepath.Join(dir, "z", "blocked", "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, version(t, blocked), WriteOptions{Force: true}); err == nil {
		t.Fatal("a file took the place of a folder")
	}
	if after := tree(t, dir); !equal(before, after) {
		t.Errorf("half of it was written: %v, before %v", after, before)
	}
}

func TestWriteRollsBack(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, version(t, firstVersion))
	before := tree(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// The third file fails after the first two are in place.
	p := &plan{write: []File{{"a.cpp", []byte("a2")}, {"fresh/x.cpp", []byte("x")}, {"b.cpp/below", []byte("y")}},
		remove: []string{"runtime/src/c.cpp"}}
	if err := apply(root, p); err == nil {
		t.Fatal("a file was put below a file")
	}
	if after := tree(t, dir); !equal(before, after) {
		t.Errorf("not rolled back: %v, before %v", after, before)
	}
	if _, err := os.Stat(filepath.Join(dir, "fresh")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a folder that was made is still there")
	}
}

func TestWriteToReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	if err := os.Mkdir(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	if os.WriteFile(filepath.Join(locked, "probe"), nil, 0o644) == nil {
		// The superuser writes everywhere; a file in the place of the folder stops it too.
		if err := os.RemoveAll(locked); err != nil {
			t.Fatal(err)
		}
		put(t, dir, "locked", "a file")
	}
	if _, err := Write(locked, version(t, firstVersion), WriteOptions{}); err == nil {
		t.Error("no error")
	}
	if _, err := Write(filepath.Join(locked, "below"), version(t, firstVersion), WriteOptions{}); err == nil {
		t.Error("no error for a folder below")
	}
}

func TestWriteStaysInTheFolder(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	put(t, outside, "a.cpp", "precious")
	if err := os.Symlink(outside, filepath.Join(dir, "runtime")); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, version(t, firstVersion), WriteOptions{Force: true}); err == nil {
		t.Error("a link out of the folder was followed")
	}
	if err := os.Symlink(filepath.Join(outside, "a.cpp"), filepath.Join(dir, "a.cpp")); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, version(t, map[string]string{"a.cpp": "a1"}), WriteOptions{}); err == nil {
		t.Error("a file that is a link out of the folder was followed")
	}
	if got := tree(t, outside); got["a.cpp"] != "precious" || len(got) != 1 {
		t.Errorf("outside the folder: %v", got)
	}
}

func TestWriteRefusesPathsOfItsOwnMaking(t *testing.T) {
	for _, path := range []string{"", ".", "..", "../x", "/x", "a/../../x", "a//b", `a\b`, "a/./b", "x\x00"} {
		if _, err := Write(t.TempDir(), []File{{Path: path}}, WriteOptions{Force: true}); err == nil {
			t.Errorf("path %q was accepted", path)
		}
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, dir, version(t, firstVersion))
	put(t, dir, "b.cpp", "mine")
	before := tree(t, dir)
	stale, orphaned, edited, err := Check(dir, version(t, secondVersion))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.cpp", ManifestName, "new/d.cpp"}; !slices.Equal(stale, want) {
		t.Errorf("stale %v, want %v", stale, want)
	}
	if want := []string{"runtime/src/c.cpp"}; !slices.Equal(orphaned, want) {
		t.Errorf("orphaned %v, want %v", orphaned, want)
	}
	if want := []string{"b.cpp"}; !slices.Equal(edited, want) {
		t.Errorf("edited %v, want %v", edited, want)
	}
	if after := tree(t, dir); !equal(before, after) {
		t.Error("Check wrote something")
	}
}

func TestCheckWithoutFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	stale, _, _, err := Check(dir, version(t, firstVersion))
	if err != nil || len(stale) != 4 {
		t.Errorf("stale %v, error %v", stale, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("Check made the folder")
	}
}
