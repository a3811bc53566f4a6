package values_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/tools/provetest"
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
