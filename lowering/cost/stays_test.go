package cost_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/cost"
)

// TestStaysOnCaller: a collective that is waited for at once costs no way to another stream and back; one that may
// overlap has a stream of its own.
func TestStaysOnCaller(t *testing.T) {
	streams := func(spec string, schedule map[string]string) []string {
		program, err := lowerSpec(spec, map[string]int64{"D": 2}, schedule)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cost.Predict(program, h200(t))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, c := range p.Calls {
			if c.Kind == cost.NCCLCall {
				found = append(found, c.Stream)
			}
		}
		return found
	}
	for spec, schedule := range map[string]map[string]string{
		"ag_matmul": {"preset": "eager", "streams": "0"}, "matmul_rs": {"preset": "eager", "streams": "0"}, "allreduce": {"preset": "eager", "streams": "0"},
	} {
		if found := streams(spec, schedule); len(found) == 0 || slices.ContainsFunc(found, func(s string) bool { return s != "caller" }) {
			t.Errorf("%s, whole: communications run on %v", spec, found)
		}
	}
	for _, spec := range []string{"ag_matmul", "mlp_tp"} {
		if found := streams(spec, nil); len(found) == 0 || slices.ContainsFunc(found, func(s string) bool { return !strings.HasPrefix(s, "communicator") }) {
			t.Errorf("%s: communications run on %v", spec, found)
		}
	}
}
