package interp

import (
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// TestOneRank: what runs on several GPUs runs on one, too, where its schedule is open: an axis of one rank splits
// nothing, whatever a pipeline needs of it.
func TestOneRank(t *testing.T) {
	auto := model.Setting{Value: "auto"}
	for _, path := range specs(t) {
		runsOn(t, path, func(t *testing.T) *model.Pipeline { t.Helper(); return small(t, path, 1, auto) })
	}
	layers, _ := filepath.Glob("../../../testdata/layers/*.yaml")
	for _, path := range layers { // they are small
		runsOn(t, path, func(t *testing.T) *model.Pipeline {
			t.Helper()
			p, _, err := model.LoadFile(path, map[string]int64{"D": 1}, auto)
			if err != nil {
				t.Fatal(err)
			}
			return p
		})
	}
}

// runsOn checks what a spec is lowered to.
func runsOn(t *testing.T, path string, load func(*testing.T) *model.Pipeline) {
	t.Helper()
	t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
		t.Parallel()
		pipeline := load(t)
		program, err := lowering.Lower(pipeline, lowering.Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		check(t, lowertest.NewOracle(t, pipeline, 1), program, 1)
	})
}
