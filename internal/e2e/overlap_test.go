package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hidden is a communication that some order of execution runs at the same time as a GEMM of the same rank.
type hidden struct {
	communication, product string // statements of the host program
	ahead                  int    // index of the communication's slice minus the index of the GEMM's slice
}

// layersThatOverlap are programs, with the communications that must be hidden in them.
var layersThatOverlap = []struct {
	spec   string // the name of an example, or the path of another spec
	hidden []hidden
}{
	{"mlp_tp", []hidden{
		{"allgather of X", "linear into Z", 1}, {"allgather of X", "linear into P", 1},
	}},
	{"swiglu_tp", []hidden{
		{"allgather of X", "matmul into Zg", 1}, {"allgather of X", "matmul into Zu", 1},
		{"allgather of X", "matmul into P", 1},
	}},
	{"rs_norm_ag", []hidden{
		{"allgather of U", "matmul into Z", 1},
	}},
	{"moe_a2a", []hidden{
		{"all-to-all of X", "matmul into Z", 1}, {"all-to-all of X", "matmul into P", 1},
	}},
	{"testdata/norm_mlp.yaml", []hidden{
		{"allgather of V", "linear into Z", 1}, {"allgather of V", "linear into P", 1},
	}},
	{"../../testdata/grids/mlp_fsdp.yaml", []hidden{{"allgather of W2", "linear into Z", 0}}},
}

// TestCommunicationsHideBehindProducts checks in traces that a slice is gathered, or dispatched, during the GEMMs of
// the slice before, and that weights are gathered during the GEMMs of the layer before.
func TestCommunicationsHideBehindProducts(t *testing.T) {
	for _, layer := range layersThatOverlap {
		t.Run(filepath.Base(layer.spec), func(t *testing.T) {
			spec, values := layerSpec(t, layer.spec)
			for _, h := range examples.beside(t).neverBeside(t, spec, values, layer.hidden, 8) {
				t.Errorf("in no order %s goes on beside %s, %d slices before", h.communication, h.product, h.ahead)
			}
		})
	}
}

// TestASerialProgramHidesNothing checks a program whose slices run one after the other. Each iteration waits for all
// before it, so no order runs a gather at the same time as a GEMM.
func TestASerialProgramHidesNothing(t *testing.T) {
	layer := layersThatOverlap[0]
	spec, values := layerSpec(t, layer.spec)
	spec = withSchedule(spec, "{preset: reference, initial_waits: fused}")
	if never := examples.neverBeside(t, spec, values, layer.hidden, 4); len(never) != len(layer.hidden) {
		t.Errorf("want none of %v beside products, but only %v are not", layer.hidden, never)
	}
}

// layerSpec reads a spec at a size for tests: an example by its name, or a file.
func layerSpec(t *testing.T, name string) (string, params) {
	t.Helper()
	if !strings.HasSuffix(name, ".yaml") {
		return example(t, "../../testdata/specs/"+name+"/spec.yaml", row(2))
	}
	spec, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return renamed.ReplaceAllString(string(spec), "name: example"), nil
}

// neverBeside runs a program in up to orders orders of execution, until each communication could run at the same time
// as its GEMM. It returns those that never could.
func (f folder) neverBeside(t *testing.T, spec string, values params, list []hidden, orders int64) []hidden {
	t.Helper()
	ranks := f.emit(t, spec, values).Meshes[0].Size()
	program := f.build(t)
	for seed := int64(0); seed < orders && len(list) > 0; seed++ {
		tr, _ := traced(t, program, ranks, seed, "2")
		var left []hidden
		for _, h := range list {
			if !tr.hides(h) {
				left = append(left, h)
			}
		}
		list = left
	}
	return list
}

// hides reports whether a communication could run at the same time as its GEMM.
func (tr trace) hides(h hidden) bool {
	for _, c := range tr.slices {
		if c.kind != "nccl" || c.statement != h.communication {
			continue
		}
		for _, g := range tr.slices {
			if g.kind == "gemm" && g.statement == h.product && g.rank == c.rank && g.call == c.call && c.index == g.index+h.ahead &&
				c.couldRunWith(g) {
				return true
			}
		}
	}
	return false
}
