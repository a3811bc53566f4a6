package e2e

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
)

// headsOverRanks has an attention and its gradient. Query heads are split over ranks, and keys and values are whole.
const headsOverRanks = `
hirgen: 1
name: heads
params: {D: 2, H: 8, G: 1, L: 12, C: 8}
mesh: {x: D}
dtype: fp32
tensors:
  Q:  [DIDx, H/D, L, C]
  K:  [G, L, C]
  V:  [G, L, C]
  dO: [DIDx, H/D, L, C]
  gK: [G, L, C]
  gV: [G, L, C]
ops:
  - O, S = attention(Q, K, V, %[1]s)
  - dQ, dK, dV = attention_grad(dO, Q, K, V, O, S, %[1]s)
  - gK = sum(dK, axis=0)
  - gV = sum(dV, axis=0)
outputs: [O, dQ, gK, gV]
`

// headsOnOneAxis has the same operations on tensors that are not split.
const headsOnOneAxis = `
hirgen: 1
name: whole
params: {D: 2, H: 8, G: 1, L: 12, C: 8}
dtype: fp32
tensors:
  Q:  [H, L, C]
  K:  [G, L, C]
  V:  [G, L, C]
  dO: [H, L, C]
ops:
  - O, S = attention(Q, K, V, %[1]s)
  - dQ, gK, gV = attention_grad(dO, Q, K, V, O, S, %[1]s)
outputs: [O, dQ, gK, gV]
`

// TestHeadsOverRanksAreTheUnsplitHeads runs attentions of heads over ranks, forward and backward, and compares their results with
// the results of the evaluator on tensors that are not split.
func TestHeadsOverRanksAreTheUnsplitHeads(t *testing.T) {
	for _, c := range []struct {
		ranks, keyHeads int64
		attrs, split    string
	}{
		{2, 1, "causal=true", ""}, // inferred, because only heads fit
		{4, 1, "causal=true", ", split=heads"},
		{4, 2, "causal=true, window=5", ", split=heads"},
		{2, 4, "scale=0.5", ", split=heads"},
	} {
		t.Run(fmt.Sprintf("x=%d/%d key heads", c.ranks, c.keyHeads), func(t *testing.T) {
			heads := folder{"heads"}.beside(t)
			values := params{"D": c.ranks, "G": c.keyHeads}
			p := heads.emit(t, fmt.Sprintf(headsOverRanks, c.attrs+c.split), values)
			program, dir := heads.build(t), t.TempDir()
			whole, err := model.Load("whole.yaml", fmt.Appendf(nil, headsOnOneAxis, c.attrs), values)
			if err != nil {
				t.Fatal(err)
			}
			inputs := eval.Fill(p, 5+1) // the inputs of the second call
			for _, in := range whole.Inputs {
				inputs[in.Name] = &eval.Array{Shape: domain.Shape(in.Axes), Data: inputs[in.Name].Data}
			}
			want, err := eval.Run(whole, inputs)
			if err != nil {
				t.Fatal(err)
			}
			args := append([]string{"--seed", "5"}, brief...)
			for _, out := range p.Outputs {
				args = append(args, "--dump", out.Name+"="+filepath.Join(dir, out.Name))
			}
			for seed := range seedsOf(4) {
				r := run(t, launch.Options{Program: program, N: int(c.ranks), Seed: seed, Args: args})
				r.mustPass(t)
				if want := "# Attention: tiled (2; not cuDNN: built without cuDNN)\n"; !strings.Contains(r.stdout, want) {
					t.Errorf("the report has no line %q:\n%s", want, r.stdout)
				}
			}
			for _, out := range p.Outputs {
				got := readSafetensors(t, filepath.Join(dir, out.Name), out.Name, out.DType)
				for i, v := range want[out.Name].Data {
					if math.Abs(got.Data[i]-v) > 1e-5*(1+math.Abs(v)) {
						t.Fatalf("element %d of %s is %g, want %g", i, out.Name, got.Data[i], v)
					}
				}
			}
		})
	}
}
