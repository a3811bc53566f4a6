package lowering

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/model"
)

// TestSpecsLower takes every example spec, made small, through loader, passes and
// interpreter.
func TestSpecsLower(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "specs", "*", "spec.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := model.Load(filepath.Base(file), text, map[string]int64{"M": 32, "N": 6, "K": 12})
			if err != nil {
				t.Fatal(err)
			}
			o := newOracle(t, p, 7)
			program, err := Lower(p, Options{Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(10) {
				if err := o.check(program, seed); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
