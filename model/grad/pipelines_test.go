package grad_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// pipelines are specs of the benchmark whose GEMMs run in slices. The benchmark also has their backward passes, in folders
// NAME_backward.
var pipelines = []string{"block", "block_sp"}

const benchmark = "../../scripts/bench_gpu/specs/"

// TestBackwardPassesOfPipelines compares the backward passes of the benchmark with the generated ones, and interprets
// them on 2 and 4 ranks with their schedules. It limits the number of collectives, because a gather or sum that goes
// from rank to rank in the forward pass must do so in the backward pass, too.
func TestBackwardPassesOfPipelines(t *testing.T) {
	for _, name := range pipelines {
		p, _, err := model.LoadFile(benchmark+name+"/spec.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		pass, err := grad.Backward(p, grad.Options{Axes: axesOf(p), Recompute: []string{grad.None}})
		if err != nil {
			t.Fatal(err)
		}
		file := benchmark + name + "_backward/spec.yaml"
		compareWritten(t, pass, file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for d := int64(2); d <= 4; d += 2 {
			wide := strings.Replace(string(text), "dtype: bf16\n", "dtype: fp32\n", 1)
			q, err := model.Load("backward.yaml", []byte(wide), map[string]int64{"D": d, "B": 1, "L": 16, "H": 4, "G": 4, "C": 2, "F": 8})
			if err != nil {
				t.Fatal(err)
			}
			if !onRanks(t, q, wide) {
				t.Errorf("%s is refused on %d ranks", name, d)
			}
			if program, err := lowering.Host(q, lowering.Options{}); err != nil ||
				collectives(program) > map[string]int{"block": 1, "block_sp": 0}[name] {
				t.Errorf("%s on %d ranks has %d collectives of rows (%v)", name, d, collectives(program), err)
			}
		}
	}
}

// TestBackwardPassesWithoutSlices compares two backward passes of the benchmark without slices with the generated ones.
func TestBackwardPassesWithoutSlices(t *testing.T) {
	for _, name := range []string{"natural_mlp", "natural_swiglu"} {
		p, _, err := model.LoadFile(benchmark+name+"/spec.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		pass, err := grad.Backward(p, grad.Options{Axes: axesOf(p), Recompute: []string{grad.None}})
		if err != nil {
			t.Fatal(err)
		}
		compareWritten(t, pass, benchmark+name+"_backward/spec.yaml")
	}
}

// collectives counts the collectives whose result has more than one axis on a rank.
func collectives(p *hostir.Program) int {
	count := 0
	for c := range hostir.Each[*hostir.Communication](p.Body) {
		if len(hostir.LocalShape(c.Out)) > 1 {
			count++
		}
	}
	return count
}
