package emit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering/hostir"
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

// TestConstantsAreUsed holds that a program declares no name of a statement that it never mentions.
func TestConstantsAreUsed(t *testing.T) {
	const specs = "../testdata/specs"
	var cases []*hostir.Program
	for _, name := range folders(t, specs) {
		cases = append(cases, lowerSpec(t, filepath.Join(specs, name, "spec.yaml")))
	}
	for _, name := range goldenCases(t) {
		cases = append(cases, loadCase(t, name))
	}
	constant := regexp.MustCompile(`constexpr const char\* (k\w+) =`)
	for _, p := range cases {
		for _, f := range render(t, p) {
			for _, found := range constant.FindAllSubmatch(f.Data, -1) {
				if varies(f.Path) && len(regexp.MustCompile(`\b`+string(found[1])+`\b`).FindAll(f.Data, -1)) == 1 {
					t.Errorf("%s of %s declares %s and does not use it", f.Path, p.Name, found[1])
				}
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
