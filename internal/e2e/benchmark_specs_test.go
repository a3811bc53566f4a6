package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

// TestBenchmarkSpecs runs specs of examples/parallel_kernel_bench at small sizes on two ranks, with the schedule that auto chooses: every
// tenth, or all in a full test.
func TestBenchmarkSpecs(t *testing.T) {
	specs, err := filepath.Glob("../../examples/parallel_kernel_bench/specs/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for n, path := range specs {
		if !full && n%10 != 0 {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			layers := folder{"layers"}.beside(t)
			values := params{}
			for _, param := range lowertest.Smallest(t, path).Params {
				values[param.Name] = param.Value
			}
			layers.runs(t, renamed.ReplaceAllString(string(text), "name: layer"), values, seedsOf(2))
		})
	}
}
