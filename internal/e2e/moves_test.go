package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
)

// TestMoves runs programs whose tensors are on grids of ranks and on some of the ranks: each type of communication,
// with different roots.
func TestMoves(t *testing.T) {
	specs, err := filepath.Glob("testdata/moves/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for _, path := range specs {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			moves := folder{"moves"}.beside(t)
			spec, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			moves.runs(t, string(spec), nil, seedsOf(3))
		})
	}
}

// TestDumpOfSomeRanks dumps tensors that only some ranks have, in slices and whole, computed from inputs that only some
// ranks load.
func TestDumpOfSomeRanks(t *testing.T) {
	spec, err := os.ReadFile("testdata/moves/line.yaml")
	if err != nil {
		t.Fatal(err)
	}
	moves, dir := folder{"moves"}, t.TempDir()
	pipeline := moves.emit(t, string(spec), nil)
	program := moves.build(t)
	inputs, args := randomInputs(t, pipeline, dir)
	args = append(args, brief...)
	names := []string{"sent", "broadcast_turned", "gathered_elsewhere", "reduced_scattered"}
	for _, name := range names {
		args = append(args, "--dump", name+"="+filepath.Join(dir, name))
	}
	run(t, launch.Options{Program: program, N: 4, Seed: 6, Args: args}).mustPass(t)
	want, err := eval.Run(pipeline, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		got := readSafetensors(t, filepath.Join(dir, name), name, domain.FP32)
		if err := sameArray(got, want[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlacements runs specs whose communications follow from derived placements: every third one, or all in a full
// test.
func TestPlacements(t *testing.T) {
	specs, err := filepath.Glob("../../testdata/placements/*.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	for i, path := range specs {
		if !full && i%3 > 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		// The same calls, with fewer elements.
		values := map[string]params{
			"kept_axis": {"M": 384, "N": 48}, "own_transpose": {"M": 96}, "token_loss": {"M": 48, "K": 48, "V": 480},
			"two_stages": {"M": 96, "N": 96, "K": 96}, "sum_of_the_same_name": {"M": 96, "N": 96, "K": 96},
		}[name]
		t.Run(name, func(t *testing.T) {
			moves := folder{"moves"}.beside(t)
			spec, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			moves.runs(t, renamed.ReplaceAllString(string(spec), "name: moves"), values, seedsOf(2))
		})
	}
}
