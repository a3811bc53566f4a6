package lowering_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	callsinterp "github.com/hirgen/hirgen/calls/interp"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// layers lists specs of layers. Each layer also has a variant with sequence parallelism (_sp). The layer and the
// variant each have a backward pass (_backward).
var layers = []string{"llama_mlp", "llama_attention", "llama_block", "gpt_block"}

// smallLayers has sizes for examples at which 2, 3 and 4 ranks divide all extents. Other layers are in testdata/layers,
// and have such sizes already.
var smallLayers = map[string]map[string]int64{
	"llama_mlp":         {"M": 12, "K": 12, "N": 24},
	"llama_block":       {"B": 2, "L": 6, "H": 24, "G": 12, "C": 2, "F": 48},
	"mlp_sp":            {"M": 24, "K": 12, "N": 24},
	"transformer_block": {"B": 2, "L": 6, "H": 12, "C": 2, "F": 48},
	"llama_block_sp":    {"B": 2, "L": 6, "H": 24, "G": 12, "C": 2, "F": 48},
}

// loadLayer loads the spec of a layer with small sizes, on the given number of ranks.
func loadLayer(t *testing.T, name string, ranks int64) *model.Pipeline {
	t.Helper()
	values := map[string]int64{"D": ranks}
	for param, value := range smallLayers[name] {
		values[param] = value
	}
	for _, pattern := range []string{"../testdata/layers/" + name + ".yaml", "../testdata/specs/" + name + "/spec.yaml"} {
		if files, _ := filepath.Glob(pattern); len(files) > 0 {
			p, _, err := model.LoadFile(files[0], values)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("there is no spec of %s", name)
	return nil
}

// TestLayersInEveryOrder runs the host program and the calls of each layer in their interpreters, on 2, 3 or 4 ranks in
// turn, or on all of these in a full run, in 20 orders of execution (2 with -short). Half of the orders run with each of
// two sets of inputs.
func TestLayersInEveryOrder(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 2
	}
	for n, layer := range layers {
		for i, form := range []string{"", "_sp", "_backward", "_sp_backward"} {
			for ranks := int64(2); ranks <= 4; ranks++ {
				if !lowering.InTurn(int(ranks), 3, n, i) {
					continue
				}
				t.Run(fmt.Sprintf("%s%s/x=%d", layer, form, ranks), func(t *testing.T) {
					t.Parallel()
					p := loadLayer(t, layer+form, ranks)
					program, err := lowering.Host(p, lowering.Options{Verify: true})
					if err != nil {
						t.Fatal(err)
					}
					lowered, err := lowering.Calls(program, lowering.Options{})
					if err != nil {
						t.Fatal(err)
					}
					for input := range uint64(2) {
						o := lowertest.NewOracle(t, p, 1+input)
						check := o.Orders(program)
						for seed := input; seed < seeds; seed += 2 {
							if err := check(seed); err != nil {
								t.Fatal(err)
							}
							got, err := callsinterp.Run(lowered.Program, nil, o.Inputs, seed)
							if err == nil {
								err = o.Compare(got, seed)
							}
							if err != nil {
								t.Fatalf("the calls: %v", err)
							}
						}
					}
				})
			}
		}
	}
}

// TestLlamaBlockIsShort checks that the spec of a block has at most 30 operations, and declares only the axes of inputs
// and outputs.
func TestLlamaBlockIsShort(t *testing.T) {
	for _, name := range []string{"llama_block", "llama_block_sp"} {
		p := loadLayer(t, name, 2)
		if n := len(p.Written); n > 30 {
			t.Errorf("%s has %d operations", name, n)
		}
		for _, tensor := range p.Tensors {
			if tensor.Annotated && tensor.Producer != nil && !slices.Contains(p.Outputs, tensor) {
				t.Errorf("%s says the axes of %s", name, tensor.Name)
			}
		}
	}
}

// TestGradientOfOneKeyHead checks a gradient with query heads split over ranks. The gradient of the only key head is
// then a sum over ranks.
func TestGradientOfOneKeyHead(t *testing.T) {
	p, err := model.Load("spec.yaml", []byte(`
hirgen: 1
name: shared
mesh: {x: 2}
dtype: fp32
tensors:
  Q: [2, DIDx, 4, 3]
  K: [2, 1, 4, 3]
ops:
  - O, L = attention(Q, K, K, causal=true)
  - dQ, dK, dV = attention_grad(O, Q, K, K, O, L, causal=true)
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(p, lowering.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	check := lowertest.NewOracle(t, p, 1).Orders(program)
	for seed := range uint64(4) {
		if err := check(seed); err != nil {
			t.Fatal(err)
		}
	}
}

// TestResultsOnTwoMeshes checks, before and after the passes, that an additional result may be on ranks that have
// neither the first result nor an operand.
func TestResultsOnTwoMeshes(t *testing.T) {
	p, err := model.Load("spec.yaml", []byte(`
hirgen: 1
name: apart
mesh: {x: 3}
meshes:
  pair: {axes: {x: 2}, ranks: [0, 1]}
dtype: fp32
tensors:
  Q: {axes: [1, 2, 4, 3], mesh: pair}
  K: {axes: [1, 2, 4, 3], mesh: pair}
  L: [1, 2, 4]
ops:
  - O, L = attention(Q, K, K, causal=true)
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	built, err := lowering.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := lowering.Host(p, lowering.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []*hostir.Program{built, lowered} {
		if err := lowertest.NewOracle(t, p, 1).Orders(program)(1); err != nil {
			t.Fatal(err)
		}
	}
}
