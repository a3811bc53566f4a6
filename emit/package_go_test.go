package emit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
)

const goGolden = "../testdata/go_package"

// TestGoPackage compares the Go package of a program with the package that internal/e2e has built and run.
func TestGoPackage(t *testing.T) {
	files := packaged(t, emit.Packages{Go: true})
	printed := map[string]bool{}
	for _, f := range files {
		path, ours := strings.CutPrefix(f.Path, "go/")
		if !ours {
			continue
		}
		printed[path] = true
		want := filepath.Join(goGolden, "want", path)
		if *update {
			if err := os.MkdirAll(filepath.Dir(want), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(want, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if stored, err := os.ReadFile(want); err != nil || !bytes.Equal(stored, f.Data) {
			t.Errorf("%s differs from %s; after a look at it: go test ./emit -run TestGoPackage -update", f.Path, want)
		}
	}
	err := filepath.WalkDir(filepath.Join(goGolden, "want"), func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(filepath.Join(goGolden, "want"), path)
		if err == nil && !entry.IsDir() && !printed[filepath.ToSlash(name)] {
			t.Errorf("%s is printed no more", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func packaged(t *testing.T, packages emit.Packages) []emit.File {
	t.Helper()
	files, err := renderHost(lowerSpec(t, filepath.Join(goGolden, "spec.yaml")),
		emit.Options{Packages: packages, Flags: []string{"-p", "M=4"}})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestFolderKnowsItsPackages writes a folder with and without the Go package. The manifest records the package
// and the flags, and without the package its files are removed.
func TestFolderKnowsItsPackages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		packages emit.Packages
		command  string
		module   string
	}{
		{emit.Packages{Go: true, GoModule: "example.com/a/b"}, "hirgen emit spec.yaml -p M=4 --go --go-module example.com/a/b -o .",
			"module example.com/a/b\n"},
		{emit.Packages{Go: true}, "hirgen emit spec.yaml -p M=4 --go -o .", "module example/gonames\n"},
		{emit.Packages{}, "hirgen emit spec.yaml -p M=4 -o .", ""},
	} {
		if _, err := emit.Write(dir, packaged(t, c.packages), emit.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		record, err := emit.ReadRecord(dir)
		if err != nil || record.Packages != c.packages || !slices.Equal(record.Flags, []string{"-p", "M=4"}) {
			t.Errorf("%+v: the folder says %+v, %v", c.packages, record, err)
		}
		readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil || !strings.Contains(string(readme), "`"+c.command+"`") || strings.Contains(string(readme), "In Go") != c.packages.Go {
			t.Errorf("%+v: %v, the README is\n%s", c.packages, err, readme)
		}
		if module, _ := os.ReadFile(filepath.Join(dir, "go", "go.mod")); !strings.HasPrefix(string(module), c.module) || c.module == "" &&
			module != nil {
			t.Errorf("%+v: go.mod is %q", c.packages, module)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "go")); !os.IsNotExist(err) {
		t.Errorf("without the package its folder is still there: %v", err)
	}
}

func TestWrongGoModule(t *testing.T) {
	for _, module := range []string{"/a", "a/", "a b", "a//b", "../a", "a\n", "a/.b", "a;b", `a"b`} {
		_, err := renderHost(lowerSpec(t, filepath.Join(goGolden, "spec.yaml")),
			emit.Options{Packages: emit.Packages{Go: true, GoModule: module}})
		if err == nil || !strings.Contains(err.Error(), "is not the path of a Go module") {
			t.Errorf("%q: %v", module, err)
		}
	}
}
