package emit_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/emit"
)

// TestGeneratedIsFresh compares generated/ with what would be emitted now, both ways:
// every example has its folder, and every folder its example.
func TestGeneratedIsFresh(t *testing.T) {
	const specs, generated = "../testdata/specs", "../generated"
	for _, name := range folders(t, specs) {
		files := render(t, lowerSpec(t, filepath.Join(specs, name, "spec.yaml")))
		stale, orphaned, edited, err := emit.Check(filepath.Join(generated, name), files)
		if err != nil {
			t.Errorf("generated/%s: %v", name, err)
		}
		if len(stale)+len(orphaned)+len(edited) > 0 {
			t.Errorf("generated/%s: stale %v, orphaned %v, edited %v; run: make gen", name, stale, orphaned, edited)
		}
	}
	for _, name := range folders(t, generated) {
		if _, err := os.Stat(filepath.Join(specs, name, "spec.yaml")); err != nil {
			t.Errorf("generated/%s comes from no spec: %v", name, err)
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
