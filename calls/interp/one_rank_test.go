package interp

import (
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// TestOneRank runs the specs on one rank, or with one rank along an axis, with their own schedules and with schedule:
// auto. An axis of one rank splits nothing, even if a pipeline runs over it, and schedule fields of its communications
// have no effect.
func TestOneRank(t *testing.T) {
	layers, _ := filepath.Glob("../../testdata/layers/*.yaml") // small enough with their own sizes
	grids, _ := filepath.Glob("../../testdata/grids/*.yaml")
	for name, settings := range map[string][]model.Setting{"own": nil, "auto": {{Value: "auto"}}} {
		t.Run(name, func(t *testing.T) {
			for _, path := range specs(t) {
				runsOn(t, path, func(t *testing.T) *model.Pipeline { t.Helper(); return small(t, path, 1, settings...) })
			}
			for _, path := range layers {
				runsOn(t, path, with(path, map[string]int64{"D": 1}, settings))
			}
			for _, path := range grids { // D is 2 here, and 1 above
				runsOn(t, path, with(path, map[string]int64{"R": 1}, settings))
			}
		})
	}
}

// with returns a function that loads a spec with some parameters.
func with(path string, params map[string]int64, settings []model.Setting) func(*testing.T) *model.Pipeline {
	return func(t *testing.T) *model.Pipeline {
		t.Helper()
		p, _, err := model.LoadFile(path, params, settings...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// runsOn lowers a spec and checks the calls of its program.
func runsOn(t *testing.T, path string, load func(*testing.T) *model.Pipeline) {
	t.Helper()
	t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
		t.Parallel()
		pipeline := load(t)
		program, err := lowering.Host(pipeline, lowering.Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		check(t, lowertest.NewOracle(t, pipeline, 1), program, 1)
	})
}
