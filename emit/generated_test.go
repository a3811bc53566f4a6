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

// TestGeneratedIsFresh compares generated/ with what would be emitted now, but for the
// runtime's copy and the manifest, which are not checked in.
func TestGeneratedIsFresh(t *testing.T) {
	const specs, generated = "../testdata/specs", "../generated"
	names := folders(t, specs)
	if got := folders(t, generated); !slices.Equal(got, names) {
		t.Errorf("generated/ has %q, the specs are %q; run: make gen", got, names)
	}
	for _, name := range names {
		for _, f := range render(t, lowerSpec(t, filepath.Join(specs, name, "spec.yaml"))) {
			if strings.HasPrefix(f.Path, "runtime/") || f.Path == emit.ManifestName {
				continue
			}
			path := filepath.Join(generated, name, f.Path)
			if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, f.Data) {
				t.Errorf("%s is not what is emitted now; run: make gen", path)
			}
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
