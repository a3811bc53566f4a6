package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLayers runs every spec under testdata/layers, operations of which layers are made, on several
// numbers of ranks.
func TestLayers(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/layers/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, path := range specs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []int64{2, 3, 4} {
			t.Run(fmt.Sprintf("%s/x=%d", strings.TrimSuffix(filepath.Base(path), ".yaml"), d), func(t *testing.T) {
				spec := renamed.ReplaceAllString(string(text), "name: layer")
				folder{"layers"}.runs(t, spec, params{"D": d}, seedsOf(4))
			})
		}
	}
}
