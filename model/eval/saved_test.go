package eval

import (
	"math"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// TestSavedInputsAreThoseOfAForwardPass compares the saved inputs that the check makes for each attention_grad with
// the attention of its Q, K and V. With random inputs, rows of probabilities would not add up to 1.
func TestSavedInputsAreThoseOfAForwardPass(t *testing.T) {
	specs := map[string]*model.Pipeline{
		"transformer_block_backward": loadSpec(t, "transformer_block_backward", map[string]int64{"D": 2, "B": 1, "L": 64, "H": 2, "C": 8}),
		"a cast, and two of one attention": mustLoad(t, `
hirgen: 1
name: backward
mesh: {x: 2}
dtype: bf16
tensors:
  U: [DIDx, 1, 16, 8]
  G: [DIDx, 1, 16, 8]
  O: {axes: [DIDx, 16, 8], dtype: fp32}
  L: {axes: [DIDx, 1, 16], dtype: fp32}
ops:
  - Q = gelu(U)
  - Os = cast(O, dtype=bf16)
  - Or = reshape(Os, shape=[2, 1, 16, 8])
  - dQ, dK, dV = attention_grad(G, Q, U, U, Or, L)
  - eQ, eK, eV = attention_grad(U, Q, U, U, Or, L)
outputs: [dQ, dK, dV, eQ, eK, eV]
`),
	}
	for name, p := range specs {
		t.Run(name, func(t *testing.T) {
			values := mustEvaluate(t, p, Fill(p, 1))
			for _, op := range p.Ops {
				if op.Kind != model.OpAttentionGrad {
					continue
				}
				a, _ := domain.AttentionOf(op.Fn)
				q, k, v := values[op.In[1].Name], values[op.In[2].Name], values[op.In[3].Name]
				o, logs := a.Forward(a.Shape(q.Shape, k.Shape), q.Data, k.Data, v.Data)
				for i, want := range [][]float64{o, logs} {
					for e, got := range values[op.In[4+i].Name].Data {
						if math.Abs(got-want[e]) > op.In[4+i].DType.Epsilon()*(1+math.Abs(want[e])) {
							t.Fatalf("element %d of %s is %g, and the forward pass makes %g", e, op.In[4+i].Name, got, want[e])
						}
					}
				}
			}
		})
	}
}

// TestSavedNeedsTheOthers checks that Saved computes nothing for an attention_grad whose queries depend on its own saved
// tensors.
func TestSavedNeedsTheOthers(t *testing.T) {
	p := mustLoad(t, `
hirgen: 1
name: backward
mesh: {x: 1}
dtype: fp32
tensors:
  K: [1, 16, 8]
  O: [1, 16, 8]
  L: [1, 16]
  dQ: [1, 16, 8]
ops:
  - Q = gelu(O)
  - dQ, dK, dV = attention_grad(K, Q, K, K, O, L)
outputs: [dQ, dK, dV]
`)
	if ops := Saved(p); len(ops) > 0 {
		t.Errorf("%d operations make O of itself", len(ops))
	}
}

// TestSavedBehindSaved checks the order of the saved inputs if the queries of an attention_grad depend on tensors that
// an attention_grad later in the spec saves.
func TestSavedBehindSaved(t *testing.T) {
	p := mustLoad(t, `
hirgen: 1
name: backward
mesh: {x: 1}
dtype: fp32
tensors:
  Q1: [1, 16, 8]
  O1: [1, 16, 8]
  L1: [1, 16]
  O2: [1, 16, 8]
  L2: [1, 16]
ops:
  - Q2 = gelu(O1)
  - dQ2, dK2, dV2 = attention_grad(Q1, Q2, Q1, Q1, O2, L2)
  - dQ1, dK1, dV1 = attention_grad(dQ2, Q1, Q1, Q1, O1, L1)
outputs: [dQ1, dK1, dV1, dK2, dV2]
`)
	var sets []string
	for _, op := range Saved(p) {
		if op.Kind == model.OpSet {
			sets = append(sets, op.Out.Name)
		}
	}
	if want := []string{"O1", "L1", "O2", "L2"}; !slices.Equal(sets, want) {
		t.Errorf("the inputs are made in the order %v, want %v", sets, want)
	}
}
