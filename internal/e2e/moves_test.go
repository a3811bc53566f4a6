package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
)

// TestMoves runs programs whose tensors are on grids of ranks and on some of the ranks: each
// type of communication, with every place that its root can have.
func TestMoves(t *testing.T) {
	specs, err := filepath.Glob("testdata/moves/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	moves := folder{name: "moves", cache: []string{quick}}
	for _, path := range specs {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			spec, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			ranks := moves.emit(t, string(spec), nil).Meshes[0].Size()
			program := moves.build(t)
			for seed := range int64(3) {
				run(t, launch.Options{Program: program, N: ranks, Seed: seed, Args: brief}).mustPass(t)
			}
		})
	}
}
