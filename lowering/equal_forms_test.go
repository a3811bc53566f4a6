package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// endOfBlock is the end of a block with the rows of X and Y split over ranks. FIRST adds the sum S to X, which is
// X1, and SECOND adds T to X1.
const endOfBlock = `hirgen: 1
name: end_of_block
params: {D: 2, M: 4096, K: 4096, N: 14336}
mesh: {x: D}
dtype: bf16
tensors:
  O:     [DIDx, D, M/D, K/D]
  X:     [DIDx, M/D, K]
  Wo:    [DIDx, 1, K, K/D]
  gamma: [K]
  bias:  [K]
  seed:  {axes: [1], dtype: int64}
  W1:    [DIDx, 1, N/D, K]
  W2:    [DIDx, 1, K, N/D]
  Y:     [DIDx, M/D, K]
ops:
  - Wop = linear(O, Wo)
  - S = sum(Wop, axis=0)
  - FIRST
  - U = rms_norm(X1, gamma)
  - Z = linear(U, W1)
  - A = gelu(Z)
  - W2p = linear(A, W2)
  - T = sum(W2p, axis=0)
  - SECOND
`

// TestFormsOfResiduals checks that the predicted time of a layer with schedule: auto hardly depends on the elementwise operations between a
// sum over ranks and the residual, or on their order.
func TestFormsOfResiduals(t *testing.T) {
	t.Parallel()
	machine, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	first := 0.0
	for _, form := range []string{ // result, residual, sum
		"%[1]s = add(%[2]s, %[3]s)",
		"%[1]s = add(%[3]s, %[2]s)",
		"%[1]sb = add(%[2]s, %[3]s); %[1]s = add(%[1]sb, bias)",
		"%[1]sb = add(%[3]s, bias); %[1]s = add(%[2]s, %[1]sb)",
		"%[1]sb = scale(%[3]s, by=0.5); %[1]s = add(%[1]sb, %[2]s)",
		"%[1]sb = add(%[3]s, bias); %[1]sd = dropout(%[1]sb, seed, p=0.1); %[1]s = add(%[2]s, %[1]sd)",
		"%[1]sf = cast(%[3]s, dtype=fp32); %[1]sr = cast(%[2]s, dtype=fp32); %[1]sa = add(%[1]sr, %[1]sf); %[1]s = cast(%[1]sa, dtype=bf16)",
		"%[1]sn = rms_norm(%[3]s, bias); %[1]s = add(%[2]s, %[1]sn)",
		"%[1]sa = add(%[2]s, %[3]s); %[1]s = rms_norm(%[1]sa, bias)",
	} {
		lines := strings.ReplaceAll(form, "; ", "\n  - ")
		text := strings.NewReplacer("FIRST", fmt.Sprintf(lines, "X1", "X", "S"), "SECOND", fmt.Sprintf(lines, "Y", "X1", "T")).Replace(endOfBlock)
		for input, line := range map[string]string{"bias": "  bias:  [K]\n", "seed": "  seed:  {axes: [1], dtype: int64}\n"} {
			if !strings.Contains(form, input) {
				text = strings.Replace(text, line, "", 1)
			}
		}
		us := timeOf(t, text, machine)
		if first == 0 {
			first = us
		}
		if us > 1.03*first {
			t.Errorf("%s: predicted %.0f us, and %.0f us for a plain addition", form, us, first)
		}
	}
}

// wholeEnd is the end of a block with X and Y whole on every rank. ROWS are its rows, as one axis or two, and ONE is an axis of weights for
// the second one.
const wholeEnd = `hirgen: 1
name: end_of_block
params: {D: 4, B: 2, L: 2048, K: 4096, N: 14336}
mesh: {x: D}
dtype: bf16
tensors:
  O:     [DIDx, ROWS, K/D]
  X:     [ROWS, K]
  Wo:    [DIDx, ONE K, K/D]
  gamma: [K]
  W1:    [DIDx, ONE N/D, K]
  W2:    [DIDx, ONE K, N/D]
  Y:     [ROWS, K]
ops:
  - Wop = linear(O, Wo)
  - S = sum(Wop, axis=0)
  - X1 = add(X, S)
  - U = rms_norm(X1, gamma)
  - Z = linear(U, W1)
  - A = gelu(Z)
  - W2p = linear(A, W2)
  - T = sum(W2p, axis=0)
  - Y = add(X1, T)
`

// TestFormsOfRows checks that a layer with schedule: auto and its backward pass are predicted to take as long with two batches as with all
// rows in one axis, although four ranks cannot share two batches.
func TestFormsOfRows(t *testing.T) {
	t.Parallel()
	machine, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	one := strings.NewReplacer("ROWS", "B*L", "ONE ", "").Replace(wholeEnd)
	two := strings.NewReplacer("ROWS", "B, L", "ONE ", "1, ").Replace(wholeEnd)
	for _, backward := range []bool{false, true} {
		if backward {
			one, two = backwardOf(t, one), backwardOf(t, two)
		}
		if of1, of2 := timeOf(t, one, machine), timeOf(t, two, machine); of2 > 1.01*of1 {
			t.Errorf("predicted %.0f us with two axes of rows, and %.0f us with one:\n%s", of2, of1, two)
		}
	}
}

// projections are the beginning of a block with few rows: the projections of queries, keys and values, and attention.
const projections = `hirgen: 1
name: projections
params: {D: 2, L: 64, H: 32, G: 8, C: 128, E: H*C}
mesh: {x: D}
dtype: bf16
tensors:
  X: [L, E]
  gamma: [E]
WEIGHTS
  Wo: [DIDx, E, E/D]
  Y: [L, E]
ops:
  - U = rms_norm(X, gamma)
GEMMS
  - Hq = reshape(Uq, shape=[D, L, H/D, C])
  - Hk = reshape(Uk, shape=[D, L, G/D, C])
  - Hv = reshape(Uv, shape=[D, L, G/D, C])
  - Rq = rope(Hq, axis=1)
  - Rk = rope(Hk, axis=1)
  - Q = permute(Rq, perm=[0, 2, 1, 3])
  - K = permute(Rk, perm=[0, 2, 1, 3])
  - V = permute(Hv, perm=[0, 2, 1, 3])
  - O = attention(Q, K, V, causal=true)
  - heads = permute(O, perm=[0, 2, 1, 3])
  - A = reshape(heads, shape=[D, L, E/D])
  - P = linear(A, Wo)
  - S = sum(P, axis=0)
  - Y = add(X, S)
`

// TestFormsOfProjections checks that few rows are predicted to take hardly longer with three projections than with one that is split.
func TestFormsOfProjections(t *testing.T) {
	t.Parallel()
	machine, err := cost.LoadMachine(schedules.MeasuredMachine)
	if err != nil {
		t.Fatal(err)
	}
	one := timeOf(t, strings.NewReplacer("WEIGHTS", "  W: [DIDx, (H+2*G)/D*C, E]", "GEMMS",
		"  - QKV = linear(U, W)\n  - Uq, Uk, Uv = split(QKV, sizes=[H/D*C, G/D*C, G/D*C])").Replace(projections), machine)
	three := timeOf(t, strings.NewReplacer("WEIGHTS", "  Wq: [DIDx, H/D*C, E]\n  Wk: [DIDx, G/D*C, E]\n  Wv: [DIDx, G/D*C, E]", "GEMMS",
		"  - Uq = linear(U, Wq)\n  - Uk = linear(U, Wk)\n  - Uv = linear(U, Wv)").Replace(projections), machine)
	if three > 1.03*one {
		t.Errorf("predicted %.1f us with three projections, and %.1f us with one", three, one)
	}
}

// backwardOf returns the spec of the backward pass.
func backwardOf(t *testing.T, spec string) string {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := grad.Backward(p, grad.Options{Recompute: []string{grad.Cheap}})
	if err != nil {
		t.Fatal(err)
	}
	return pass.Text
}

// timeOf returns the predicted time of a spec on a machine, in microseconds.
func timeOf(t *testing.T, spec string, machine *cost.Machine) float64 {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, spec)
	}
	lowered, err := Lower(p, Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, spec)
	}
	of, err := cost.Predict([]*calls.Program{lowered.Program}, machine)
	if err != nil {
		t.Fatalf("%v\n%s", err, spec)
	}
	return of.Total
}
