package values_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove/values"
)

// TestExamplesAsTheyStand checks that the calls of every example, as lowered for its own extents, compute the values of the
// model at smaller extents.
func TestExamplesAsTheyStand(t *testing.T) {
	for _, c := range provetest.Examples(t) {
		path := provetest.Spec(c.Name)
		spec, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			t.Fatal(err)
		}
		load := func(params map[string]int64) (*model.Pipeline, error) { return model.Load("spec.yaml", spec, params) }
		start := time.Now()
		sized, err := values.Small(c.Programs[0], nil, load, values.Columns, nil)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		found := time.Since(start)
		r, err := values.Check(sized.Program, sized.Model, 1)
		if err != nil || len(r.Mismatches) > 0 {
			t.Errorf("%s at %v: %v %+v", c.Name, sized.Changed, err, r)
		}
		t.Logf("%s: %v, %v + %v", c.Name, sized.Changed, found.Round(time.Millisecond), (time.Since(start) - found).Round(time.Millisecond))
	}
}

// TestColumnsOfAnOperandThatKeepsItsExtent reduces the experts of a rank from 4 to 1. One kernel has a row of D = 4 elements,
// which is also the old number of experts. Its rows keep 4 elements.
func TestColumnsOfAnOperandThatKeepsItsExtent(t *testing.T) {
	spec := []byte(`{hirgen: 1, name: p, dtype: fp32, params: {D: 4, M: 8192, K: 2048, E: 16, Cap: 512}, mesh: {x: D},
tensors: {o: [DIDx, E/D, Cap, K], place: {axes: [M], dtype: int32}, Y: [M, K]},
ops: ["of = reshape(o, shape=[D, E/D*Cap, K])", "Y = gather(of, place, split=rows)"]}`)
	load := func(params map[string]int64) (*model.Pipeline, error) { return model.Load("spec.yaml", spec, params) }
	p, err := load(nil)
	if err != nil {
		t.Fatal(err)
	}
	host, err := lowering.Host(p, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := lowering.Calls(host, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sized, err := values.Small(lowered.Programs()[0], nil, load, values.Columns, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(sized.Changed, "E = 4") {
		t.Fatalf("%v leaves the number of experts", sized.Changed)
	}
	if r, err := values.Check(sized.Program, sized.Model, 1); err != nil || len(r.Mismatches) > 0 {
		t.Errorf("%v: %v %+v", sized.Changed, err, r)
	}
}
