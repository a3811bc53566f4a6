package emit_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/emit"
)

// TestGeneratedIsFresh compares generated/ with what would be emitted now.
func TestGeneratedIsFresh(t *testing.T) {
	const specs, generated = "../testdata/specs", "../generated"
	for _, name := range folders(t, generated) {
		files := render(t, lowerSpec(t, filepath.Join(specs, name, "spec.yaml")))
		stale, orphaned, edited, err := emit.Check(filepath.Join(generated, name), files)
		if err != nil {
			t.Errorf("generated/%s: %v", name, err)
		}
		if differ := slices.Concat(stale, orphaned, edited); len(differ) > 0 {
			t.Errorf("generated/%s: %d files differ, %s among them; run: make gen", name, len(differ), differ[0])
		}
	}
}

// folders lists the folders inside a folder.
func folders(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}
