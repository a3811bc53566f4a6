package eval

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

const (
	splitHead = "hirgen: 1\nname: p\nparams: {D: 3, M: 2, N: 4}\nmesh: {x: D}\ndtype: fp32\ntensors: "
	// splitTensors are mergedTensors with the rows or heads split over ranks by a separate axis.
	splitTensors = "{A: [DIDx, M, N], B: [DIDx, M, N], C: [DIDx, M, N], S: [DIDx, M, D*M], r: [DIDx, M, 1], at: [DIDx, M], " +
		"no: {axes: [DIDx, M], dtype: int32}, Q: [DIDx, 2, M, N], dO: [DIDx, 2, M, N], Kd: [DIDx, 1, M, N], E: [DIDx, M, 128]"
	mergedTensors = "{A: [D*M, N], B: [D*M, N], C: [D*M, N], S: [D*M, D*M], r: [D*M, 1], at: [D*M], no: {axes: [D*M], dtype: int32}, " +
		"Q: [2*D, M, N], dO: [2*D, M, N], Kd: [D, M, N], E: [D*M, 128]"
	wholeTensors = ", w: [N, N], w128: [128, 128], g: [N], seed: {axes: [1], dtype: int64}, ids: {axes: [4], dtype: int32}, " +
		"K1: [1, M, N], K3: [3, M, N], L1: [1, D*M, N]}\nops:\n"
)

// mergedRows computes Qr from Q, with the rows of all blocks along one axis. splitRows computes O, with the elements in the
// order of Q, from Or, the result for Qr.
const (
	mergedRows = "Qb = reshape(Q, shape=[D, 2, M, N]); Qp = permute(Qb, perm=[1, 0, 2, 3]); Qr = reshape(Qp, shape=[2, D*M, N]); "
	splitRows  = "; Ob = reshape(Or, shape=[2, D, M, N]); O = permute(Ob, perm=[1, 0, 2, 3])"
)

// splits maps operations to pairs of texts: for split tensors, and for merged tensors. Without a second text, both are the
// same. Elementwise functions without attributes need no entry.
var splits = map[string][][2]string{
	"set": {{"O = set(A)"}}, "matmul": {{"O = matmul(A, w)"}},
	"linear":    {{"O = linear(A, w)"}, {"O = linear(A, w, g)"}, {"O = linear(A, w, quantize=fp8_e4m3)"}},
	"broadcast": {{"O = broadcast(A, axis=3)", "O = broadcast(A, axis=2)"}},
	"permute":   {{"O = permute(A, perm=[0, 1, 2])", "O = permute(A, perm=[0, 1])"}},
	"reshape":   {{"O = reshape(A, shape=[D, M, 2, N/2])", "O = reshape(A, shape=[D*M, 2, N/2])"}},
	"slice":     {{"O = slice(A, axis=-1, start=1, size=2)"}},
	"split":     {{"O, P = split(A)"}}, "concat": {{"O = concat(A, B)"}}, "positions": {{"O = positions(A, axis=-1)"}},
	"cast":  {{"O = cast(A, dtype=fp16)"}},
	"scale": {{"O = scale(A, by=0.5)"}}, "shift": {{"O = shift(A, by=0.5)"}}, "sum": {{"O = sum(A, axis=-1)"}},
	"clamp_min": {{"O = clamp_min(A, by=0.5)"}}, "clamp_max": {{"O = clamp_max(A, by=0.5)"}}, "clamp": {{"O = clamp(A, min=-0.5, max=0.5)"}},
	"prod": {{"O = prod(A, axis=-1)"}},
	"max":  {{"O = max(A, B)"}, {"O = max(A, axis=-1)"}}, "min": {{"O = min(A, B)"}, {"O = min(A, axis=-1)"}},
	"where":   {{"O = where(A, B, C)"}},
	"dropout": {{"O = dropout(A, seed, p=0.5)"}}, "dropout_at": {{"O = dropout_at(A, seed, g, r, p=0.5, salt=0, width=1)"}},
	"gather": {
		{"O = gather(A, ids, split=rows)", "O = gather(A, ids)"}, {"O = gather(A, ids, axis=-1)"},
		{"O = gather(A, no, axis=2, batches=2)", "O = gather(A, no, batches=1)"},
	},
	"gather_at": {{"first = positions(A, axis=0); from = scale(first, by=M); all = gather_at(A, ids, from, axis=1); O = sum(all, axis=0)",
		"O = gather_at(A, ids)"}},
	"scatter_add": {
		{"O = scatter_add(no, A, rows=7)"}, {"O = scatter_add(no, A, rows=2, blocks=3)"},
		{"O = scatter_add(no, A, rows=5, batches=2)", "O = scatter_add(no, A, rows=5, batches=1)"},
	},
	"top_k":        {{"O, P = top_k(A, k=2)"}},
	"cumsum":       {{"O = cumsum(A)"}, {"R = reshape(A, shape=[D*M, N]); O = cumsum(R, axis=0)", "O = cumsum(A, axis=0)"}},
	"mean":         {{"O = mean(A)"}},
	"argmax":       {{"O = argmax(A)"}},
	"softmax":      {{"O = softmax(A)"}, {"O = softmax(S, causal=true, split=rows)", "O = softmax(S, causal=true)"}},
	"softmax_grad": {{"O = softmax_grad(A, B)"}}, "log_softmax": {{"O = log_softmax(A)"}},
	"log_softmax_grad": {{"O = log_softmax_grad(A, B)"}},
	"normalize":        {{"O = normalize(A)"}}, "normalize_grad": {{"O = normalize_grad(A, B)"}}, "layer_norm": {{"O = layer_norm(A, g, g)"}},
	"layer_norm_grad": {{"O, dg, db = layer_norm_grad(A, B, g)"}}, "rms_norm": {{"O = rms_norm(A, g)"}, {"O = rms_norm(A)"}},
	"rms_norm_grad": {{"O, dg = rms_norm_grad(A, B, g)"}},
	"rope":          {{"O = rope(A, split=rows)", "O = rope(A)"}, {"O = rope(A, at, axis=-2)"}},
	"rope_grad":     {{"O = rope_grad(A, split=rows)", "O = rope_grad(A)"}},
	"quantize": {
		{"O, P = quantize(A, dtype=fp8_e4m3)"}, {"O, P = quantize(A, dtype=fp8_e4m3, block=2)"},
		{"O, P = quantize(A, dtype=fp8_e5m2, whole=true)"},
	},
	"dequantize": {{"P, T = quantize(A, dtype=fp8_e4m3); O = dequantize(P, T)"}},
	"block_linear": {{"P, T = quantize(E, dtype=fp8_e4m3, block=128); w8, U = quantize(w128, dtype=fp8_e4m3, block=128, block_rows=128); " +
		"O = block_linear(P, w8, T, U)"}},
	"scaled_linear": {{"P, T = quantize(A, dtype=fp8_e4m3); w8, U = quantize(w, dtype=fp8_e4m3); O = scaled_linear(P, T, w8, U)"}},
	"attention": {
		{"O, L = attention(Q, K3, K3)"}, {"O = attention(Q, Kd, Kd, causal=true)"}, {"O = attention(Q, K3, K3, causal=true)"},
		{"O = attention(Q, K1, K1, causal=true, window=1)"},
		{"O = attention(Q, L1, L1, split=heads)", "O = attention(Q, L1, L1)"},
		{"O = attention(Q, L1, L1, causal=true, split=rows)", mergedRows + "Or = attention(Qr, L1, L1, causal=true)" + splitRows},
		{"O = attention(Q, L1, L1, causal=true, window=2, split=rows)", mergedRows + "Or = attention(Qr, L1, L1, causal=true, window=2)" +
			splitRows},
		{"O = attention(Q, L1, L1, split=rows)", mergedRows + "Or = attention(Qr, L1, L1)" + splitRows},
	},
	"attention_grad": {
		{"O, L = attention(Q, Kd, Kd); dQ, dK, dV = attention_grad(dO, Q, Kd, Kd, O, L)"},
		{
			"O, L = attention(Q, K3, K3); dQ, dKs, dVs = attention_grad(dO, Q, K3, K3, O, L); dK = sum(dKs, axis=0); dV = sum(dVs, axis=0)",
			"O, L = attention(Q, K3, K3); dQ, dK, dV = attention_grad(dO, Q, K3, K3, O, L)",
		},
		{
			"O, L = attention(Q, K1, K1, causal=true); dQ, dKs, dVs = attention_grad(dO, Q, K1, K1, O, L, causal=true); dK = sum(dKs, axis=0); dV " +
				"= sum(dVs, axis=0)",
			"O, L = attention(Q, K1, K1, causal=true); dQ, dK, dV = attention_grad(dO, Q, K1, K1, O, L, causal=true)",
		},
		{
			"O, L = attention(Q, L1, L1, split=rows); dQ, dKs, dVs = attention_grad(dO, Q, L1, L1, O, L, split=rows); dK = sum(dKs, axis=0)",
			"O, L = attention(Q, L1, L1); dQ, dK, dV = attention_grad(dO, Q, L1, L1, O, L)", // all rows see all keys
		},
	},
}

// TestASplitNeverChangesTheResult compares the results of each operation for tensors with rows or heads that are split over
// ranks, and for tensors where these are one axis.
func TestASplitNeverChangesTheResult(t *testing.T) {
	for _, op := range model.OpInfos() {
		cases := splits[op.Name]
		if cases == nil && !op.Composite && len(op.Attributes) == 0 { // element by element
			cases = [][2]string{{"O = " + op.Name + "(" + strings.Join([]string{"A", "B"}[:op.Most], ", ") + ")"}}
		}
		if cases == nil {
			t.Errorf("%s is not compared", op.Name)
		}
		for _, c := range cases {
			if c[1] == "" {
				c[1] = c[0]
			}
			split, merged := splitSpec(t, splitTensors, c[0]), splitSpec(t, mergedTensors, c[1])
			inputs := normalInputs(split, 3)
			for name, a := range inputs {
				for i := range a.Data {
					switch {
					case name == "seed":
						a.Data[i] = 7
					case name == "ids" || name == "no":
						a.Data[i] = float64(2 * i) // the last ids are out of range
					case op.Name == "log" || op.Name == "sqrt" || op.Name == "rsqrt":
						a.Data[i] = math.Abs(a.Data[i])
					}
				}
			}
			same := map[string]*Array{}
			for _, in := range merged.Inputs {
				same[in.Name] = NewArray(domain.Shape(in.Axes)...)
				copy(same[in.Name].Data, inputs[in.Name].Data)
			}
			got, want := mustEvaluate(t, split, inputs), mustEvaluate(t, merged, same)
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if got[name] == nil || same[name] != nil || len(name) > 2 {
					continue
				}
				for i, v := range want[name].Data {
					if g := got[name].Data[i]; math.Abs(g-v) > 1e-5*(1+math.Abs(v)) {
						t.Errorf("%s: element %d of %s is %g, and %g where nothing is split", c[0], i, name, g, v)
						break
					}
				}
			}
			if len(got["O"].Data) != len(want["O"].Data) {
				t.Errorf("%s has %d elements, and %d where nothing is split", c[0], len(got["O"].Data), len(want["O"].Data))
			}
		}
	}
}

// splitSpec loads operations with the declarations of those tensors that the operations read.
func splitSpec(t *testing.T, tensors, ops string) *model.Pipeline {
	t.Helper()
	var lines strings.Builder
	_, operands, _ := strings.Cut(ops, "(")
	for _, op := range strings.Split(ops, ";") {
		lines.WriteString("- " + strings.TrimSpace(op) + "\n")
	}
	kept := splitTensor.ReplaceAllStringFunc(tensors+wholeTensors, func(declared string) string {
		name, _, _ := strings.Cut(declared, ":")
		if regexp.MustCompile(`[(, ]` + name + `[,)]`).MatchString("(" + operands) {
			return declared
		}
		return ""
	})
	p, err := model.Load("spec.yaml", []byte(splitHead+kept+lines.String()), nil)
	if err != nil {
		t.Fatalf("%s: %v", ops, err)
	}
	return p
}

var splitTensor = regexp.MustCompile(`\w+: (\[[^]]*\]|\{[^}]*\})(, )?`)

// TestAWindowCountsTheOwnKey checks that a window of one key has only the key at the query's position, and a window of two
// also the previous key.
func TestAWindowCountsTheOwnKey(t *testing.T) {
	for window, want := range map[string][]float64{"1": {1, 2, 4, 8}, "2": {1, 1.5, 3, 6}, "3": {1, 1.5, 7.0 / 3, 14.0 / 3}} {
		p, err := model.Load("spec.yaml", []byte("hirgen: 1\nname: p\ndtype: fp32\ntensors: {Q: [1, 4, 1], K: [1, 4, 1], V: [1, 4, 1]}\nops: "+
			"[\"O = attention(Q, K, V, causal=true, window="+window+")\"]\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		values := mustEvaluate(t, p, map[string]*Array{"Q": NewArray(1, 4, 1), "K": NewArray(1, 4, 1),
			"V": {Shape: []int64{1, 4, 1}, Data: []float64{1, 2, 4, 8}}})
		for i, v := range want { // all scores are 0
			if got := values["O"].Data[i]; math.Abs(got-v) > 1e-6 {
				t.Errorf("window=%s: query %d gets %g, want %g", window, i, got, v)
			}
		}
	}
}
