package scaling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
)

// longSpecs apply each operation to tensors with an axis of L elements. An entry has the names of operations, the
// declared tensors, and the lines of operations, in which each of the names in turn replaces FN.
var longSpecs = []struct{ names, tensors, ops string }{
	{"set neg exp relu gelu silu log sin cos sqrt rsqrt tanh reciprocal gelu_tanh relu_grad gelu_grad silu_grad gelu_tanh_grad sigmoid " +
		"softplus abs sign round ceil_pow2", "X: [L, 3]", "Y = FN(X)"},
	{"scale shift clamp_min clamp_max", "X: [L, 3]", "Y = FN(X, by=0.5)"},
	{"clamp", "X: [L, 3]", "Y = FN(X, min=-0.5, max=0.5)"},
	{"add sub mul div max min ge gt eq keep drop masked", "X: [L, 3], Z: [L, 3]", "Y = FN(X, Z)"},
	{"add mul", "X: [L, 3], Z: [3]", "Y = FN(X, Z)"},
	{"sum max min prod", "X: [L, 40]", "Y = FN(X, axis=1)"},
	{"sum max min prod", "X: [L, 40]", "Y = FN(X, axis=0)"},
	{"sum", "X: [DIDx, L, 3], Y: [DIDx, L/4, 3]", "R = reshape(X, shape=[4, 4, L/4, 3]); Y = FN(R, axis=0)"},
	{"sum", "X: [DIDx, L, 3], Y: [L, 3]", "Y = FN(X, axis=0)"},
	{"set", "X: [DIDx, L, 3], Y: [4, L, 3]", "Y = FN(X)"},
	{"set", "X: [DIDx, 4, L], Y: [4, DIDx, L]", "Y = FN(X)"},
	{"matmul", "X: [L, 8], W: [8, 8]", "Y = FN(X, W)"},
	{"matmul", "X: [8, L], W: [L, 8]", "Y = FN(X, W)"},
	{"matmul", "X: [L, 2, 4], W: [L, 4, 4]", "Y = FN(X, W)"},
	{"matmul", "X: [L, 2, 2, 4], W: [2, 4, 4]", "Y = FN(X, W)"},
	{"matmul", "X: [4, DIDx, L/16, 8], W: [8, 8], Y: [Stream(4), 4, L/16, 8]", "Y = FN(X, W)"},
	{"linear", "X: [L, 8], W: [8, 8], b: [8]", "Y = FN(X, W, b)"},
	{"linear", "X: [DIDx, L, 8], W: [8, 8], P: [DIDx, L, 8], Y: [L, 8]", "P = FN(X, W); Y = sum(P, axis=0)"},
	{"broadcast", "X: [L]", "Y = FN(X, axis=1)"},
	{"permute", "X: [L, 3]", "P = FN(X, perm=[1, 0]); Y = relu(P)"},
	{"reshape", "X: [L, 4]", "Y = FN(X, shape=[2, L*2])"},
	{"cast", "X: {axes: [L, 3], dtype: int64}", "Y = FN(X, dtype=fp32)"},
	{"slice", "X: [L, 3]", "U = FN(X, axis=1, start=1, size=2); Y = neg(U)"},
	{"slice", "X: [L, 3]", "Y = FN(X, axis=0, start=1, size=L-1)"},
	{"concat", "X: [L, 3], Z: [L, 2]", "Y = FN(X, Z, axis=1)"},
	{"concat", "X: [L, 3], Z: [L, 3]", "Y = FN(X, Z, axis=0)"},
	{"split", "X: [L, 4]", "A, B = FN(X, sizes=[2, 2], axis=1); Y = mul(A, B)"},
	{"positions", "X: [L, 3]", "P = FN(X, axis=0); Y = relu(P)"},
	{"positions", "X: {axes: [L, 3], dtype: fp32}", "P = FN(X, axis=1); Y = add(X, P)"},
	{"dropout", "X: [L, 3], seed: {axes: [1], dtype: int64}", "Y = FN(X, seed, p=0.5)"},
	{"dropout", "X: [3, L], seed: {axes: [1], dtype: int64}", "Y = FN(X, seed, p=0.5)"},
	{"dropout_at", "X: [L, 3], seed: {axes: [1], dtype: int64}, c: {axes: [3], dtype: fp32}", "Y = FN(X, seed, c, p=0.5, salt=0, width=3)"},
	{"attention", "Q: [L, 1, 2, 8], K: [L, 1, 2, 8], V: [L, 1, 2, 8]", "Y = FN(Q, K, V)"},
	{"attention", "Q: [1, 1, L, 8], K: [1, 1, L, 8], V: [1, 1, L, 8]", "Y = FN(Q, K, V, causal=true)"},
	{"attention_grad", "G: [L, 1, 2, 8], Q: [L, 1, 2, 8], K: [L, 1, 2, 8], V: [L, 1, 2, 8], O: [L, 1, 2, 8], E: {axes: [L, 1, 2], " +
		"dtype: fp32}", "A, B, C = FN(G, Q, K, V, O, E)"},
	{"attention_grad", "G: [1, 1, L, 8], Q: [1, 1, L, 8], K: [1, 1, L, 8], V: [1, 1, L, 8], O: [1, 1, L, 8], E: {axes: [1, 1, L], " +
		"dtype: fp32}", "A, B, C = FN(G, Q, K, V, O, E)"},
	{"softmax log_softmax normalize mean argmax", "X: [L, 8]", "Y = FN(X, axis=1)"},
	{"softmax log_softmax normalize mean", "X: [8, L]", "Y = FN(X, axis=1)"},
	{"softmax_grad log_softmax_grad normalize_grad", "G: [L, 8], X: [L, 8]", "Y = FN(G, X, axis=1)"},
	{"layer_norm", "X: [L, 8], g: [8], b: [8]", "Y = FN(X, g, b)"},
	{"rms_norm", "X: [L, 8], g: [8]", "Y = FN(X, g)"},
	{"layer_norm_grad", "G: [L, 8], X: [L, 8], g: [8]", "A, B, C = FN(G, X, g)"},
	{"rms_norm_grad", "G: [L, 8], X: [L, 8], g: [8]", "A, B = FN(G, X, g)"},
	{"rope rope_grad", "X: [L, 1, 4, 8]", "Y = FN(X)"},
	{"rope rope_grad", "X: [1, 1, L, 8]", "Y = FN(X)"},
	{"gather", "X: [8, 3], i: {axes: [L], dtype: int64}", "Y = FN(X, i)"},
	{"gather_at", "X: [2, 8, 3], i: {axes: [L], dtype: int64}, f: {axes: [2], dtype: fp32}", "Y = FN(X, i, f)"},
	{"scatter_add", "X: [L, 3], i: {axes: [L], dtype: int64}", "Y = FN(i, X, rows=8)"},
	{"scatter_add", "X: [8, 3], i: {axes: [8], dtype: int64}", "Y = FN(i, X, rows=L)"},
	{"top_k", "X: [L, 8]", "Y, J = FN(X, k=3)"},
	{"top_k", "X: [8, L]", "Y, J = FN(X, k=2)"},
	{"cumsum", "X: [L, 8]", "Y = FN(X)"},
	{"cumsum", "X: [L, 8]", "Y = FN(X, axis=0)"},
	{"quantize", "X: [L, 8]", "Y, S = FN(X, dtype=fp8_e4m3)"},
	{"dequantize", "X: {axes: [L, 8], dtype: fp8_e4m3}, S: {axes: [L], dtype: fp32}", "Y = FN(X, S)"},
	{"scaled_linear", "Q: {axes: [L, 16], dtype: fp8_e4m3}, S: {axes: [L], dtype: fp32}, W: {axes: [8, 16], dtype: fp8_e4m3}, " +
		"T: {axes: [8], dtype: fp32}", "Y = FN(Q, S, W, T)"},
	{"block_linear", "Q: {axes: [L, 128], dtype: fp8_e4m3}, W: {axes: [128, 128], dtype: fp8_e4m3}, S: {axes: [L, 1], dtype: fp32}, " +
		"T: {axes: [1, 1], dtype: fp32}", "Y = FN(Q, W, S, T)"},
	{"where", "c: [L, 3], X: [L, 3], Z: [L, 3]", "Y = FN(c, X, Z)"},
	{"neg", "X: [Stream(L), 3], Y: [Stream(L), 3]", "Y = FN(X)"},
}

// TestLongExtents checks that specs with axes of 2^30 to 2^46 elements pass all steps within 20 s, or are refused with
// an error that refused expects. No size in the emitted sources may be negative.
func TestLongExtents(t *testing.T) {
	machine, err := cost.LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	accepted := map[string]bool{}
	for i, s := range longSpecs {
		extents := []int64{1<<31 - 16, 1 << 31, 1<<32 - 16, 1 << 32, 1<<32 + 16, 1 << 40, 1 << 46, 16 * (1<<26 + random.Int64N(1<<29))}
		for _, name := range strings.Fields(s.names) {
			// Two extents that most operations accept, one that depends on the entry, and a random one.
			for _, at := range []int{0, 4, i % len(extents), random.IntN(len(extents))} {
				spec := fmt.Sprintf("hirgen: 1\nname: wide\nparams: {L: %d}\nmesh: {x: 4}\ndtype: bf16\ntensors: {%s}\nops:\n", extents[at], s.tensors)
				for line := range strings.SplitSeq(strings.ReplaceAll(s.ops, "FN", name), "; ") {
					spec += "  - " + line + "\n"
				}
				if makes(t, spec, machine) {
					accepted[name] = true
				}
			}
		}
	}
	for _, op := range model.OpInfos() {
		// A dropout is refused if its operand has more than 2^24 rows or columns.
		if !accepted[op.Name] && op.Name != "dropout" {
			t.Errorf("no spec has a long axis in %s", op.Name)
		}
	}
}

var negative = regexp.MustCompile(`[^\w)]-\d{5,}`)

// makes reports whether hirgen accepts a spec. The test fails if that takes too long, if the proof keeps the program
// from being written (undecided values do not), if hirgen refuses the spec with a code that refused does not list, if
// the program has a negative size, or if no finite time is predicted.
func makes(t *testing.T, spec string, machine *cost.Machine) bool {
	t.Helper()
	start := time.Now()
	defer func() {
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%v for\n%s", took, spec)
		}
	}()
	p, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		return refused(t, spec, err)
	}
	program, err := lowering.Host(p, lowering.Options{Verify: true})
	if err != nil {
		return refused(t, spec, err)
	}
	lowered, err := lowering.Calls(program, lowering.Options{})
	if err != nil {
		return refused(t, spec, err)
	}
	reports, err := prove.Each(lowered.Programs(), p.With)
	if err != nil || slices.ContainsFunc(reports, func(r *prove.Report) bool { return !r.Emits() }) {
		t.Errorf("%v, %+v for\n%s", err, reports, spec)
	}
	files, err := emit.Render(lowered, emit.Options{})
	if err != nil {
		return refused(t, spec, err)
	}
	for _, f := range files {
		if !strings.Contains(f.Path, "runtime/") && (strings.HasSuffix(f.Path, ".cpp") || strings.HasSuffix(f.Path, ".cu")) {
			if found := negative.Find(f.Data); found != nil {
				t.Errorf("%s has %s for\n%s", f.Path, found, spec)
			}
		}
	}
	predicted, err := cost.Predict(lowered.Programs(), machine)
	if err != nil || predicted == nil || !(predicted.Total > 0) || math.IsInf(predicted.Total, 0) {
		t.Errorf("predicted %v, %v for\n%s", predicted, err, spec)
	}
	return true
}

// refused checks that an error is a list of diagnostics, all with expected codes. It always returns false.
func refused(t *testing.T, spec string, err error) bool {
	t.Helper()
	errs, ok := diag.Diagnostics(err)
	if !ok {
		t.Errorf("%v for\n%s", err, spec)
		return false
	}
	for _, d := range errs.Items {
		if !slices.Contains([]diag.Code{diag.Overflow, diag.BadExtent, diag.BadAttribute, diag.TooLong}, d.Code) {
			t.Errorf("%s: %s for\n%s", d.Code, d.Message, spec)
		}
	}
	return false
}
