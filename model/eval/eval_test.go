package eval

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hirgen/hirgen/model/domain"
)

// array makes an array of the given values.
func array(shape []int64, values ...float64) *Array {
	a := NewArray(shape...)
	copy(a.Data, values)
	return a
}

// iota64 makes an array 0, 1, 2, ...
func iota64(shape ...int64) *Array {
	a := NewArray(shape...)
	for i := range a.Data {
		a.Data[i] = float64(i)
	}
	return a
}

// spec returns a spec in fp32 on two ranks with the given tensors and operations.
func spec(tensors, ops string) string {
	return "hirgen: 1\nname: p\ndtype: fp32\nparams: {D: 2, S: 2}\nmesh: {x: D}\ntensors: {" + tensors + "}\nops:\n" + ops
}

func TestEvaluateOperations(t *testing.T) {
	a, nan, inf := array([]int64{2, 3}, 1, -2, 3, 4, 5, -6), math.NaN(), math.Inf(1)
	for _, c := range []struct {
		tensors, op string
		inputs      map[string]*Array
		want        *Array
	}{
		{"A: [2, 3]", "set(A)", map[string]*Array{"A": a}, a},
		{"A: [2, 3], B: [3, 2]", "matmul(A, B)", map[string]*Array{"A": iota64(2, 3), "B": iota64(3, 2)},
			array([]int64{2, 2}, 10, 13, 28, 40)},
		{"A: [2, 1, 3], B: [3, 1]", "matmul(A, B)", map[string]*Array{"A": iota64(2, 1, 3), "B": iota64(3, 1)},
			array([]int64{2, 1, 1}, 5, 14)},
		{"A: [2, 1, 3], B: [2, 3, 1]", "matmul(A, B)", map[string]*Array{"A": iota64(2, 1, 3), "B": iota64(2, 3, 1)},
			array([]int64{2, 1, 1}, 5, 50)},
		{"A: [2, 2, 1, 1], B: [2, 1, 2]", "matmul(A, B)", map[string]*Array{"A": iota64(2, 2, 1, 1), "B": iota64(2, 1, 2)},
			array([]int64{2, 2, 1, 2}, 0, 0, 2, 3, 0, 2, 6, 9)},
		{"A: [1, 3], B: [2, 3, 2]", "matmul(A, B)", map[string]*Array{"A": iota64(1, 3), "B": iota64(2, 3, 2)},
			array([]int64{2, 1, 2}, 10, 13, 28, 31)},
		{"X: [2, 3], W: [1, 3], v: [1]", "linear(X, W, v)",
			map[string]*Array{"X": iota64(2, 3), "W": array([]int64{1, 3}, 1, 0, 2), "v": array([]int64{1}, 100)},
			array([]int64{2, 1}, 104, 113)},
		{"X: [2, 1, 2], W: [2, 3, 2], v: [2, 3]", "linear(X, W, v)",
			map[string]*Array{"X": iota64(2, 1, 2), "W": iota64(2, 3, 2), "v": array([]int64{2, 3}, 10, 20, 30, 40, 50, 60)},
			array([]int64{2, 1, 3}, 11, 23, 35, 73, 93, 113)},
		{"A: [2, 3]", "permute(A, perm=[1, 0])", map[string]*Array{"A": a}, array([]int64{3, 2}, 1, 4, -2, 5, 3, -6)},
		{"A: [2, 3]", "reshape(A, shape=[3, 2])", map[string]*Array{"A": a}, array([]int64{3, 2}, a.Data...)},
		{"A: [2, 3]", "positions(A, axis=1)", map[string]*Array{"A": a}, array([]int64{3}, 0, 1, 2)},
		{"A: [2, 3]", "slice(A, axis=1, start=1)", map[string]*Array{"A": a}, array([]int64{2, 2}, -2, 3, 5, -6)},
		{"A: [2, 3]", "slice(A, axis=0, stop=1)", map[string]*Array{"A": a}, array([]int64{1, 3}, 1, -2, 3)},
		{"A: [2, 3]", "slice(A, axis=-1, start=1, size=1)", map[string]*Array{"A": a}, array([]int64{2, 1}, -2, 5)},
		{"A: [2, 3], B: [2, 1]", "concat(A, B, A, axis=1)", map[string]*Array{"A": a, "B": iota64(2, 1)},
			array([]int64{2, 7}, 1, -2, 3, 0, 1, -2, 3, 4, 5, -6, 1, 4, 5, -6)},
		{"A: [2, 3]", "concat([A, A], axis=0)", map[string]*Array{"A": a},
			array([]int64{4, 3}, append(append([]float64{}, a.Data...), a.Data...)...)},
		{"A: [2, 3]", "broadcast(A, axis=1)", map[string]*Array{"A": a}, array([]int64{2, 1, 3}, a.Data...)},
		{"A: [2, 3]", "relu(A)", map[string]*Array{"A": a}, array([]int64{2, 3}, 1, 0, 3, 4, 5, 0)},
		{"A: [2, 3]", "neg(A)", map[string]*Array{"A": a}, array([]int64{2, 3}, -1, 2, -3, -4, -5, 6)},
		{"A: [2, 3]", "scale(A, by=-0.5)", map[string]*Array{"A": a}, array([]int64{2, 3}, -0.5, 1, -1.5, -2, -2.5, 3)},
		{"A: [2, 3]", "shift(A, by=2.5e-1)", map[string]*Array{"A": a}, array([]int64{2, 3}, 1.25, -1.75, 3.25, 4.25, 5.25, -5.75)},
		{"A: [2, 3]", "sum(A, axis=0)", map[string]*Array{"A": a}, array([]int64{3}, 5, 3, -3)},
		{"A: [2, 3]", "sum(A, axis=-1)", map[string]*Array{"A": a}, array([]int64{2}, 2, 3)},
		{"A: [2, 3]", "max(A, axis=1)", map[string]*Array{"A": a}, array([]int64{2}, 3, 5)},
		{"A: [2, 3]", "min(A, axis=1)", map[string]*Array{"A": a}, array([]int64{2}, -2, -6)},
		{"A: [2, 3]", "prod(A, axis=0)", map[string]*Array{"A": a}, array([]int64{3}, 4, -10, -18)},
		{"A: [2, 3], B: [3]", "add(A, B)", map[string]*Array{"A": a, "B": iota64(3)}, array([]int64{2, 3}, 1, -1, 5, 4, 6, -4)},
		{"A: [3], B: [2, 1]", "sub(A, B)", map[string]*Array{"A": iota64(3), "B": iota64(2, 1)}, array([]int64{2, 3}, 0, 1, 2, -1, 0, 1)},
		{"A: [2, 3]", "mul(A, A)", map[string]*Array{"A": a}, array([]int64{2, 3}, 1, 4, 9, 16, 25, 36)},
		{"A: [2], B: [2]", "div(A, B)", map[string]*Array{"A": array([]int64{2}, 6, 1), "B": array([]int64{2}, 4, 2)},
			array([]int64{2}, 1.5, 0.5)},
		{"A: [3], B: [3]", "max(A, B)", map[string]*Array{"A": array([]int64{3}, 6, 1, nan), "B": array([]int64{3}, 4, 2, inf)},
			array([]int64{3}, 6, 2, nan)},
		{"A: [3], B: [3]", "min(A, B)", map[string]*Array{"A": array([]int64{3}, 6, 1, -inf), "B": array([]int64{3}, 4, 2, nan)},
			array([]int64{3}, 4, 1, nan)},
	} {
		t.Run(c.op+" "+c.tensors, func(t *testing.T) {
			p := mustLoad(t, spec(c.tensors, "- R = "+c.op))
			values, err := Run(p, c.inputs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, values["R"], cmpopts.EquateNaNs()); diff != "" {
				t.Error(diff)
			}
			if got := domain.Shape(p.Outputs[0].Axes); !cmp.Equal(got, c.want.Shape) {
				t.Errorf("inferred shape %v, want %v", got, c.want.Shape)
			}
		})
	}
}

func TestEvaluateUnaryFunctions(t *testing.T) {
	values := map[string]float64{
		"neg": -2, "relu": 2, "gelu": 1.9544997361036416, "silu": 1.7615941559557649, "exp": math.Exp(2), "log": math.Ln2, "sin": math.Sin(2),
		"cos":  math.Cos(2),
		"sqrt": math.Sqrt2, "rsqrt": 1 / math.Sqrt2, "tanh": math.Tanh(2), "reciprocal": 0.5,
		"gelu_tanh": 1.954597694087775, "sigmoid": 0.8807970779778823, "softplus": 2.1269280110429727, "abs": 2, "sign": 1, "round": 2,
		"ceil_pow2": 2,
		"relu_grad": 1, "gelu_grad": 1.0852318000962434, "silu_grad": 1.0907842487848955, "gelu_tanh_grad": 1.0860992566236183,
	}
	for _, fn := range domain.FunctionNames(func(f domain.Function) bool { return f.Unary != nil }) {
		want, ok := values[fn]
		if !ok {
			t.Errorf("the test has no value of %s", fn)
		}
		p := mustLoad(t, spec("A: [1]", "- R = "+fn+"(A)"))
		values, err := Run(p, map[string]*Array{"A": array([]int64{1}, 2)})
		if err != nil {
			t.Fatal(err)
		}
		if got := values["R"].Data[0]; math.Abs(got-want) > 1e-6 {
			t.Errorf("%s(2) = %v, want %v", fn, got, want)
		}
	}
}

// TestGradientsOfScalarFunctions compares the derivatives with finite differences of their functions, also far from zero.
func TestGradientsOfScalarFunctions(t *testing.T) {
	for _, name := range []string{"relu", "gelu", "silu", "gelu_tanh"} {
		fn, grad := domain.UnaryFn(name), domain.UnaryFn(name+"_grad")
		for _, x := range []float64{-30, -3, -0.7, -0.1, 0.1, 0.7, 3, 30} {
			const h = 1e-5
			slope := (fn(x+h) - fn(x-h)) / (2 * h)
			if math.Abs(grad(x)-slope) > 1e-9 {
				t.Errorf("%s_grad(%v) = %v, but the slope is %v", name, x, grad(x), slope)
			}
		}
		if !math.IsNaN(grad(math.NaN())) {
			t.Errorf("%s_grad(NaN) is a number", name)
		}
	}
}

func TestSpellingOfFunctions(t *testing.T) {
	for spelling, want := range map[string]float64{"scale(0.5)": 1, "shift(-1e-05)": 2 - float64(float32(1e-5)), "neg": -2,
		"clamp_min(3)": 3, "clamp_min(-3)": 2, "clamp_max(3)": 2, "clamp_max(-3)": -3} {
		fn := domain.UnaryFn(spelling)
		if fn == nil || fn(2) != want {
			t.Errorf("%s is not the function that gives %v for 2", spelling, want)
		}
	}
	for _, spelling := range []string{"", "sine", "scale", "scale()", "scale(x)", "neg(1)", "scale(1", "scale(1e99)"} {
		if domain.UnaryFn(spelling) != nil {
			t.Errorf("%q is a function", spelling)
		}
	}
	if got := domain.JoinFn("scale", 0.1); got != "scale(0.1)" {
		t.Errorf("scale by 0.1 is spelled %s", got)
	}
}

func TestEvaluateIgnoresReductionAxesOfAnOperand(t *testing.T) {
	const tensors = "A: [2, 3, 4], P: [r(2), 3, 4]"
	p := mustLoad(t, spec(tensors, "- P = sum(A, axis=0)\n- R = sum(P, axis=1)"))
	a := iota64(2, 3, 4)
	values, err := Run(p, map[string]*Array{"A": a})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(array([]int64{3}, 60, 92, 124), values["R"]); diff != "" {
		t.Error(diff)
	}
}

func TestEvaluateRefusesOtherShapes(t *testing.T) {
	p := mustLoad(t, spec("A: [2, 3]", "- R = neg(A)"))
	if _, err := Run(p, nil); err == nil {
		t.Error("a missing input was accepted")
	}
	if _, err := Run(p, map[string]*Array{"A": iota64(3, 2)}); err == nil {
		t.Error("an input of another shape was accepted")
	}
}

func TestRound(t *testing.T) {
	for _, c := range []struct {
		dtype    domain.DType
		in, want float64
	}{
		{domain.BF16, 257, 256}, {domain.BF16, 259, 260}, {domain.BF16, 258, 258}, {domain.BF16, -1.00390625, -1},
		{domain.BF16, 0x1p-133, 0x1p-133}, {domain.BF16, 0x1p-135, 0}, {domain.BF16, 3.4e38, math.Inf(1)}, {domain.BF16, -3.4e38, math.Inf(-1)},
		{domain.FP16, 2049, 2048}, {domain.FP16, 2051, 2052}, {domain.FP16, 65519, 65504}, {domain.FP16, 65520, math.Inf(1)},
		{domain.FP16, 0x1p-24, 0x1p-24}, {domain.FP16, 0x1p-25, 0}, {domain.FP16, 0x1.8p-24, 0x1p-23},
		{domain.FP32, 1 + 0x1p-24, 1}, {domain.FP32, 1e39, math.Inf(1)}, {domain.BF16, math.NaN(), math.NaN()},
	} {
		if got := c.dtype.Round(c.in); !cmp.Equal(got, c.want, cmpopts.EquateNaNs()) {
			t.Errorf("Round(%s, %v) = %v, want %v", c.dtype, c.in, got, c.want)
		}
	}
}

// TestShard checks that each element is in the shard of exactly one rank.
func TestShard(t *testing.T) {
	p := mustLoad(t, `
hirgen: 1
name: p
mesh: {x: 2, y: 3}
tensors:
  A: [4, DIDy, 2, DIDx]
  R: [4, 3, DIDx(2), 2]
ops:
  - R = permute(A, perm=[0, 1, 3, 2])
`)
	a := iota64(4, 3, 2, 2)
	seen := map[float64]int{}
	for rank := range 6 {
		local, ok := Shard(p.Inputs[0], a, rank)
		if !ok || !cmp.Equal(local.Shape, []int64{4, 1, 2, 1}) {
			t.Fatalf("rank %d holds %v, %v", rank, local, ok)
		}
		y, x := rank%3, rank/3 // the last mesh axis varies fastest
		if want := float64(y*4 + x); local.Data[0] != want {
			t.Errorf("rank %d begins with %v, want %v", rank, local.Data[0], want)
		}
		for _, v := range local.Data {
			seen[v]++
		}
	}
	if len(seen) != len(a.Data) {
		t.Errorf("the ranks hold %d of %d elements", len(seen), len(a.Data))
	}
	if _, ok := Shard(p.Inputs[0], a, 6); ok {
		t.Error("rank 6 of 6 holds something")
	}
}

// TestShardLeavesReductionsOut checks that shards have no reduction axes.
func TestShardLeavesReductionsOut(t *testing.T) {
	p := loadSpec(t, "matmul_rs", map[string]int64{"D": 2, "S": 2, "M": 8, "K": 4, "N": 3})
	values := mustEvaluate(t, p, FillIntegers(p, 1))
	local, ok := Shard(p.Outputs[0], values[p.Outputs[0].Name], 1)
	if !ok || !cmp.Equal(local.Shape, []int64{2, 1, 2, 3}) {
		t.Errorf("rank 1 holds %v", local)
	}
}

// TestContractionCountsTheSumThatFollows checks that the terms of all ranks' partial sums count together, because each
// partial sum is rounded to 16 bits.
func TestContractionCountsTheSumThatFollows(t *testing.T) {
	p := loadSpec(t, "matmul_rs", map[string]int64{"D": 4, "S": 2, "M": 16, "N": 3, "K": 40})
	for in, got := range Contractions(p) {
		if got != 40 {
			t.Errorf("contraction of %s is %d, want 40", in.Name, got)
		}
	}
}

func TestFillIntegers(t *testing.T) {
	p := loadSpec(t, "ag_linear", map[string]int64{"M": 64, "N": 16, "K": 8192})
	contractions := map[string]int64{}
	for in, got := range Contractions(p) {
		contractions[in.Name] = got
	}
	if diff := cmp.Diff(map[string]int64{"A": 8192, "W": 8192, "bias": 1}, contractions); diff != "" {
		t.Errorf("contractions: -want +got:\n%s", diff)
	}
	first, again, other := FillIntegers(p, 1), FillIntegers(p, 1), FillIntegers(p, 2)
	if !cmp.Equal(first, again) || cmp.Equal(first, other) {
		t.Error("the inputs are not a function of the seed")
	}
	nonzero := 0
	for _, v := range first["A"].Data {
		if v != math.Trunc(v) || math.Abs(v) > 2 {
			t.Fatalf("A has %v", v)
		}
		if v != 0 {
			nonzero++
		}
	}
	if share := float64(nonzero) / float64(len(first["A"].Data)); math.Abs(share-16.0/91) > 0.005 {
		t.Errorf("%.3f of A is not zero", share)
	}
	// The runtime must fill the same inputs.
	want := []float64{1, 1, 1, -2, -1, -1, 1, 1, 1, -1, -1, 1, 1, -1, -1, -1}
	if diff := cmp.Diff(want, first["bias"].Data); diff != "" {
		t.Error(diff)
	}
}
