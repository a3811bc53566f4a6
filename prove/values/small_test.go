package values_test

import (
	"os"
	"path/filepath"
	"slices"
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

// TestEqualExtents reduces parameters where launches for rows of different extents share a kernel, because the extents are equal: E = H * C
// elements of a row and L elements of a transposed row. Then each launch has a kernel of its own, and L and E different values. In the
// second spec L equals an extent that is no parameter. In the last one, GEMMs scale the first product with the kernel of the second one.
func TestEqualExtents(t *testing.T) {
	const sums = `
tensors: {dY: [L, E], X: [L, E], Wg: [DIDx, E, N/D], W2: [DIDx, N/D, E], gate: [DIDx, L, N/D], up: [DIDx, L, N/D]},
ops: ["dA = linear(dY, W2, quantize=fp8_e4m3)", "G = silu(gate)", "A = mul(G, up)", "At = permute(A, perm=[0, 2, 1])",
"dW2 = matmul(At, dY, quantize=fp8_e4m3)", "dG = mul(dA, up)", "dup = mul(dA, G)", "Xt = permute(X, perm=[1, 0])",
"dWu = matmul(Xt, dup, quantize=fp8_e4m3)", "dXg = linear(dG, Wg, quantize=fp8_e4m3)", "dX = sum(dXg, axis=0)",
"dWg = matmul(Xt, dG, quantize=fp8_e4m3)"], outputs: [dX, dWg, dWu, dW2]}`
	const blocks = `
tensors: {dY: [L, E], W: [E, H*C], PV: [H, L, C]},
ops: ["dO = matmul(dY, W, quantize=fp8_e4m3)", "dYt = permute(dY, perm=[1, 0])", "heads = permute(PV, perm=[1, 0, 2])",
"O = reshape(heads, shape=[L, H*C])", "dW = matmul(dYt, O, quantize=fp8_e4m3)", "Wt = permute(W, perm=[1, 0])",
"dP = matmul(O, Wt, quantize=fp8_e4m3)"], outputs: [dO, dW, dP]}`
	for _, c := range [][3]string{
		{"L: 4096, H: 32, C: 128, E: H*C", blocks, "1"}, {"L: 2048, H: 32, C: 64, E: 4096", blocks, "1"},
		{"L: 4096, H: 32, C: 128, E: 4096", blocks, "1"}, {"L: 256, D: 4, N: 1024, E: 256", sums, "D"},
	} {
		spec := `{hirgen: 1, name: p, dtype: bf16, params: {` + c[0] + `}, mesh: {x: ` + c[2] + `},` + c[1]
		load := func(params map[string]int64) (*model.Pipeline, error) {
			return model.Load("spec.yaml", []byte(spec), params)
		}
		p, err := load(nil)
		if err != nil {
			t.Fatal(err)
		}
		sized, err := values.Small(lower(t, p), nil, load, values.Columns, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := values.Check(sized.Program, sized.Model, 1); err != nil || len(r.Mismatches) > 0 {
			t.Errorf("%s at %v: %v %+v", c[0], sized.Changed, err, r)
		}
		if at := sized.Program.Calls.Values(); at["L"] == at["E"] || at["L"] >= 256 || at["E"] >= 256 {
			t.Errorf("%s: L and E are not reduced to different extents: %v", c[0], sized.Changed)
		}
	}
}

// TestColumnsOfKernels reduces parameters whose extents equal other extents. In the first spec a kernel's row has 4 elements (D), as
// many as a rank has experts before E is reduced, and keeps them. In the second a sum has as many rows as columns before K is
// reduced, and keeps its rows.
func TestColumnsOfKernels(t *testing.T) {
	for _, c := range []struct{ spec, changed string }{
		{`{hirgen: 1, name: p, dtype: fp32, params: {D: 4, M: 8192, K: 2048, E: 16, Cap: 512}, mesh: {x: D},
tensors: {o: [DIDx, E/D, Cap, K], place: {axes: [M], dtype: int32}, Y: [M, K]},
ops: ["of = reshape(o, shape=[D, E/D*Cap, K])", "Y = gather(of, place, split=rows)"]}`, "E = 4"},
		{`{hirgen: 1, name: p, dtype: fp32, params: {K: 4096}, mesh: {x: 1}, tensors: {X: [4096, K], W: [4096, K]},
ops: ["Z = linear(X, W)", "e = exp(X)", "n = sum(e, axis=1)"], outputs: [Z, n]}`, "K = 3"},
	} {
		load := func(params map[string]int64) (*model.Pipeline, error) {
			return model.Load("spec.yaml", []byte(c.spec), params)
		}
		p, err := load(nil)
		if err != nil {
			t.Fatal(err)
		}
		sized, err := values.Small(lower(t, p), nil, load, values.Columns, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(sized.Changed, c.changed) {
			t.Fatalf("%v is not %s", sized.Changed, c.changed)
		}
		if r, err := values.Check(sized.Program, sized.Model, 1); err != nil || len(r.Mismatches) > 0 {
			t.Errorf("%v: %v %+v", sized.Changed, err, r)
		}
	}
}
