package eval

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

func TestExact(t *testing.T) {
	const head = "A: [4, 4], B: [4, 4]"
	for ops, want := range map[string]bool{
		"- R = matmul(A, B)": true,
		"- R = relu(A)\n- T = add(R, B)\n- U = scale(T, by=-3)":                   true,
		"- R = gelu(A)\n- T = add(R, B)":                                          false,
		"- R = div(A, B)":                                                         false,
		"- R = scale(A, by=0.3)\n- T = add(R, B)":                                 false,
		"- R = scale(A, by=1024)\n- T = add(R, B)":                                false,
		"- R = prod(A, axis=0)\n- T = add(R, B)":                                  false,
		"- R = softmax(A)\n- T = add(R, B)":                                       false,
		"- R = matmul(A, B)\n- T = relu(R)\n- U = matmul(T, B)":                   true,
		"- R = matmul(A, B)\n- T = matmul(R, B)\n- U = mul(T, R)":                 true,
		"- R = matmul(A, B)\n- T = matmul(R, B)\n- U = mul(T, T)":                 false,
		"- R = max(A, axis=0)\n- T = permute(B, perm=[1, 0])\n- U = linear(T, A)": true,
	} {
		if got := Exact(mustLoad(t, spec(head, ops))); got != want {
			t.Errorf("Exact is %t for\n%s", got, ops)
		}
	}
}

// TestRoundingBetweenElementwiseOperations checks that a check is exact only if the elements between two elementwise
// operations fit in the bits of their type, because a fused kernel does not round between the operations.
func TestRoundingBetweenElementwiseOperations(t *testing.T) {
	for ops, want := range map[string]bool{
		"- R = add(A, B)\n- T = add(R, B)":                                                                             true,
		"- R = mul(A, B)\n- T = mul(R, R)\n- U = mul(T, T)\n- V = mul(U, B)":                                           true,
		"- R = scale(A, by=16)\n- T = scale(R, by=16)\n- U = add(T, B)":                                                false,
		"- R = scale(A, by=16)\n- T = scale(R, by=16)\n- S = concat(B, T, axis=0)\n- U = scale(S, by=2)\n- V = neg(U)": false,
		"- R = scale(A, by=16)\n- T = scale(R, by=16)\n- S = concat(T, B, axis=0)\n- U = scale(S, by=2)\n- V = neg(U)": false,
		"- R = matmul(A, B)\n- T = add(R, A)\n- U = add(T, B)":                                                         true,
		"- R = linear(A, B)\n- T = scale(R, by=16)\n- U = add(T, B)":                                                   false,
		"- R = linear(A, B)\n- T = scale(R, by=16)\n- U = matmul(T, B)":                                                true,
		"- R = linear(A, B)\n- T = scale(R, by=16)\n- U = cast(T, dtype=fp32)":                                         false,
		"- R = linear(A, B)\n- T = scale(R, by=16)\n- S = sum(A, axis=1)":                                              true,
		"- R = linear(A, B)\n- T = scale(R, by=16)\n- S = max(T, axis=0)\n- U = neg(S)":                                true,
		"- R = linear(A, B)\n- T = scale(R, by=2)\n- S = sum(T, axis=0)":                                               true,
		"- R = linear(A, B)\n- T = scale(R, by=2)\n- S = sum(T, axis=0)\n- U = neg(S)":                                 false,
	} {
		p := mustLoad(t, "hirgen: 1\nname: p\ndtype: bf16\ntensors: {A: [8, 8], B: [8, 8]}\nops:\n"+ops)
		if got := Exact(p); got != want {
			t.Errorf("Exact is %t for\n%s", got, ops)
		}
	}
}

// TestSumsOverRanksRoundOnTheWay checks that sums over ranks count as exact in fp32, and in 16 bits after one GEMM but not
// after two.
func TestSumsOverRanksRoundOnTheWay(t *testing.T) {
	for _, c := range []struct {
		dtype, operand string
		want           bool
	}{{"bf16", "P", true}, {"bf16", "Q", false}, {"fp16", "Q", false}, {"fp32", "Q", true}} {
		p := mustLoad(t, "hirgen: 1\nname: p\nmesh: {x: 2}\ndtype: "+c.dtype+
			"\ntensors: {A: [DIDx, 4, 4], B: [DIDx, 4, 4], C: [4, 4]}\nops:\n"+
			"- P = matmul(A, B)\n- Q = matmul(P, B)\n- C = sum("+c.operand+", axis=0)")
		if got := Exact(p); got != c.want {
			t.Errorf("Exact is %t for the sum of %s in %s", got, c.operand, c.dtype)
		}
	}
}

// TestBoundsTellRoundingsFromMistakes checks that the bounds accept a result with different rounding, such as fp32 instead
// of bf16 intermediates, and refuse a result without some term, such as the residual.
func TestBoundsTellRoundingsFromMistakes(t *testing.T) {
	const tensors = "X: [64, 48], W: [96, 48], V: [48, 96]"
	const ops = "- Z = linear(X, W)\n- A = gelu(Z)\n- P = linear(A, V)\n- Y = add(P, X)"
	p := mustLoad(t, "hirgen: 1\nname: p\ndtype: bf16\ntensors: {"+tensors+"}\nops:\n"+ops)
	inputs := Fill(p, 3)
	want, bounds, err := Bounds(p, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, dtype := range []domain.DType{domain.FP32, domain.FP16} {
		for _, tensor := range p.Tensors[3:] {
			tensor.DType = dtype
		}
		values := mustEvaluate(t, p, inputs)
		if wrong := Wrong(values["Y"].Data, want["Y"].Data, bounds["Y"].Data); wrong > 0 {
			t.Errorf("%d elements of the result in %s are called wrong", wrong, dtype)
		}
		if wrong := Wrong(values["P"].Data, want["Y"].Data, bounds["Y"].Data); wrong < len(want["Y"].Data)*9/10 {
			t.Errorf("without the residual only %d elements are called wrong", wrong)
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	if wrong := Wrong([]float64{nan, nan, inf, -inf, 1, inf}, []float64{nan, 1, inf, inf, nan, 1}, []float64{0, 9, 9, 9, 9, 9}); wrong != 4 {
		t.Errorf("of numbers that are not finite, %d are called wrong, not 4", wrong)
	}
	if Wrong([]float64{1, 2}, []float64{1, 2.5}, nil) != 1 {
		t.Error("without bounds, the comparison is not exact")
	}
}

// TestFillsFollowFromOperations checks that an input has the values that its readers need, or that the spec sets.
func TestFillsFollowFromOperations(t *testing.T) {
	const text = "hirgen: 1\nname: p\ntensors: {v: [64], g: [64], m: [64], o: [64]}\nops:\n- old = scale(v, by=0.9)\n- square = mul(g, g)\n" +
		"- w = add(old, square)\n- r = sqrt(w)\n- s = masked(r, m)\n- Y = keep(s, o)\n"
	for fill, want := range map[string]string{"": "positive  mask mask", "fill: {v: normal, o: positive}\n": "normal  mask positive"} {
		p := mustLoad(t, text+fill)
		inputs, fills := Fill(p, 1), Fills(p)
		var got []string
		for _, in := range p.Inputs {
			got = append(got, fills[in])
			least, most := slices.Min(inputs[in.Name].Data), slices.Max(inputs[in.Name].Data)
			if fill := fills[in]; fill == "positive" && least < 0.25 || fill == "mask" && (least != 0 || most != 1) || fill == "" && least > 0 {
				t.Errorf("%s is filled with %q: %v to %v", in.Name, fill, least, most)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("the inputs are filled with %q, want %q", text, want)
		}
	}
	for op := range strings.FieldsSeq("sqrt(X) log(X) rsqrt(X) reciprocal(X) div(X,X)") {
		if p := mustLoad(t, spec("X: [8]", "- Y = "+op)); Fills(p)[p.Inputs[0]] != domain.FillPositive {
			t.Errorf("the operand of %s is not positive", op)
		}
	}
	if p := mustLoad(t, spec("X: [8], m: [8]", "- Y = keep(X, m)")); !Exact(p) || slices.Max(FillIntegers(p, 1)["m"].Data) > 1 {
		t.Error("the mask of an exact check is not 0 or 1")
	}
}

func TestFillNormal(t *testing.T) {
	p := mustLoad(t, spec("X: [50, 400], W: [100, 400]", "- Z = linear(X, W)\n- A = gelu(Z)"))
	values := mustEvaluate(t, p, FillNormal(p, 1))
	for name, deviation := range map[string]float64{"X": 1, "W": 0.05, "Z": 1} {
		if rms := RootMeanSquare(values[name]); math.Abs(rms/deviation-1) > 0.05 {
			t.Errorf("%s has a deviation of %v, want %v", name, rms, deviation)
		}
	}
	if again := FillNormal(p, 1); again["X"].Data[7] != values["X"].Data[7] || FillNormal(p, 2)["X"].Data[7] == values["X"].Data[7] {
		t.Error("the values are not a function of the seed")
	}
}

// TestDeviationsOfWeights checks that a weight has a small deviation also if moves, a cast or a quantization come before the
// product.
func TestDeviationsOfWeights(t *testing.T) {
	const head = "A: [4, 16], B: [16, 16]"
	for _, ops := range []string{
		"- R = linear(A, B)",
		"- W = permute(B, perm=[1, 0])\n- V = reshape(W, shape=[16, 16])\n- R = matmul(A, V)",
		"- W = cast(B, dtype=fp32)\n- V = cast(A, dtype=fp32)\n- R = linear(V, W)",
		"- R = linear(A, B, quantize=fp8_e4m3)",
	} {
		p := mustLoad(t, spec(head, ops))
		for _, input := range p.Inputs {
			want := map[string]float64{"A": 1, "B": 0.25}[input.Name]
			if got := Deviations(p)[input]; got != want {
				t.Errorf("the deviation of %s is %g, not %g, in\n%s", input.Name, got, want, ops)
			}
		}
	}
}
