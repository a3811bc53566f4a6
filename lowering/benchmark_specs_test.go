package lowering_test

import (
	"path/filepath"
	"strings"
	"testing"

	callsinterp "github.com/hirgen/hirgen/calls/interp"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestSpecsOfABenchmark lowers and verifies the specs of examples/parallel_kernel_bench at small sizes, with the
// schedule of the spec and with preset: auto, and runs their calls in the interpreter. lowertest.Smallest halves the
// sizes of the benchmark as often as possible.
func TestSpecsOfABenchmark(t *testing.T) {
	files, err := filepath.Glob("../examples/parallel_kernel_bench/specs/*.yaml")
	if err != nil || len(files) < 70 {
		t.Fatalf("%d specs, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, preset := range []string{"", schedule.Auto} {
				p := lowertest.Smallest(t, file)
				if preset != "" {
					p.Schedule.Set("", schedule.Preset, preset)
				}
				lowered, err := lowering.Lower(p, lowering.Options{Verify: true})
				if err != nil {
					t.Fatal(err)
				}
				o := lowertest.NewOracle(t, p, 1)
				got, err := callsinterp.Run(lowered.Program, nil, o.Inputs, 1)
				if err == nil {
					err = o.Compare(got, 1)
				}
				if err != nil {
					t.Errorf("preset %q: %v", preset, err)
				}
			}
		})
	}
}
