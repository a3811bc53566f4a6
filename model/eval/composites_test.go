package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// TestCompositesAgainstFormulas compares composites, computed in fp32, with their formulas in float64.
func TestCompositesAgainstFormulas(t *testing.T) {
	x := []float64{0.5, -1, 2, 3, 0.25, -0.75}
	gamma := []float64{1, 2, -0.5}
	row := func(i int) []float64 { return x[i/3*3 : i/3*3+3] }
	sum := func(list []float64, f func(float64) float64) float64 {
		total := 0.0
		for _, v := range list {
			total += f(v)
		}
		return total
	}
	for op, want := range map[string]func(i int) float64{
		"log_softmax(X)": func(i int) float64 { return x[i] - math.Log(sum(row(i), math.Exp)) },
		"rms_norm(X)": func(i int) float64 {
			return x[i] / math.Sqrt(sum(row(i), func(v float64) float64 { return v * v })/3+1e-5)
		},
		"rms_norm(X, G, eps=0.5)": func(i int) float64 {
			return gamma[i%3] * x[i] / math.Sqrt(sum(row(i), func(v float64) float64 { return v * v })/3+0.5)
		},
		"where(M, X, G)": func(i int) float64 {
			if i == 1 || i == 2 {
				return gamma[i%3]
			}
			return x[i]
		},
		"clamp(X, min=-1/2, max=1.5)": func(i int) float64 { return max(-0.5, min(x[i], 1.5)) },
		"clamp(X, min=0.25)":          func(i int) float64 { return max(0.25, x[i]) },
		"clamp(X, max=-0.75)":         func(i int) float64 { return min(-0.75, x[i]) },
	} {
		p := mustLoad(t, spec("X: [2, 3], G: [3], M: [2, 3]", "- Y = "+op+"\n- U = neg(G)\n- V = neg(M)"))
		values := mustEvaluate(t, p, map[string]*Array{
			"X": array([]int64{2, 3}, x...), "G": array([]int64{3}, gamma...), "M": array([]int64{2, 3}, 1, 0, 0, -1, 0.5, 1),
		})
		for i, got := range values["Y"].Data {
			if math.Abs(got-want(i)) > 1e-6 {
				t.Errorf("%s: element %d is %v, not %v", op, i, got, want(i))
			}
		}
	}
}

// TestArgmax checks that argmax returns the first of equal maxima, and the largest int32 for a row with NaN.
func TestArgmax(t *testing.T) {
	p := mustLoad(t, "hirgen: 1\nname: p\ndtype: bf16\ntensors: {A: [3, 4]}\nops: [\"Y = argmax(A)\", \"Z = argmax(A, axis=0)\"]")
	inf, nan, none := math.Inf(1), math.NaN(), float64(math.MaxInt32)
	values := mustEvaluate(t, p, map[string]*Array{"A": array([]int64{3, 4}, 1, 5, 5, -2, -inf, -inf, -3, -inf, 0, inf, nan, inf)})
	for name, want := range map[string][]float64{"Y": {1, 2, none}, "Z": {0, 2, none, 2}} {
		if got := values[name].Data; !slices.Equal(got, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// TestTopK checks that top_k returns elements in descending order, the first of equal ones first, and each element of
// -infinity once. A row with NaN has only NaN.
func TestTopK(t *testing.T) {
	p := mustLoad(t, spec("A: [4, 4], B: [4]", "- V, I = top_k(A, k=3)\n- W, J = top_k(A, k=1)\n- U, K = top_k(B, k=2)\n"+
		"- R = positions(B, size=70)\n- G, L = top_k(R, k=66)"))
	inf, nan, none := math.Inf(1), math.NaN(), float64(math.MaxInt32)
	values := mustEvaluate(t, p, map[string]*Array{
		"A": array([]int64{4, 4}, 1, 5, 5, -2, -inf, -3, -inf, -inf, 0, inf, nan, inf, inf, 7, 8, inf), "B": array([]int64{4}, 2, 4, 1, 3),
	})
	var most []float64 // more than a concat joins
	for i := range 66 {
		most = append(most, float64(69-i))
	}
	for name, want := range map[string][]float64{
		"G": most, "L": most, "V": {5, 5, 1, -3, -inf, -inf, nan, nan, nan, inf, inf, 8}, "I": {1, 2, 0, 1, 0, 2, none, none, none, 0, 3, 2},
		"W": {5, -3, nan, inf}, "J": {1, 1, none, 0}, "U": {4, 3}, "K": {1, 3},
	} {
		if got := values[name].Data; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// TestCumsum compares cumsums of whole numbers along axes of several lengths with a loop, from both ends.
func TestCumsum(t *testing.T) {
	for n, attrs := range []string{"", ", exclusive=true", ", reverse=true", ", reverse=true, exclusive=true"} {
		for _, shape := range [][]int64{{7}, {300}, {1 << 15}, {3, 257}, {3, 384}, {384, 2}, {2, 300, 3}, {260, 2, 2}} {
			x := NewArray(shape...)
			for i := range x.Data {
				x.Data[i] = float64(i*7%11 - 4)
			}
			for axis := range shape {
				p := mustLoad(t, spec("X: {axes: "+strings.ReplaceAll(fmt.Sprint(shape), " ", ",")+", dtype: int32}",
					fmt.Sprintf("- Y = cumsum(X, axis=%d%s)", axis, attrs)))
				got, want := mustEvaluate(t, p, map[string]*Array{"X": x})["Y"].Data, slices.Clone(x.Data)
				inner, length := int(strides(shape)[axis]), int(shape[axis])
				for row := range len(x.Data) / length {
					sum, start := 0., row/inner*inner*length+row%inner
					for i := range length {
						if n > 1 {
							i = length - 1 - i
						}
						want[start+i*inner] = sum + x.Data[start+i*inner]*float64(1-n%2)
						sum += x.Data[start+i*inner]
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("axis %d of %v%s: %v, want %v", axis, shape, attrs, got, want)
				}
			}
		}
	}
}

// TestScatterAdd checks that scatter_add adds each row at its id. A row whose id is out of range adds nothing.
func TestScatterAdd(t *testing.T) {
	p := mustLoad(t, spec("ids: {axes: [2, 3], dtype: int64}, X: [2, 3, 2], v: {axes: [2, 3], dtype: bf16}, "+
		"n: {axes: [2, 3], dtype: int64}, N: {axes: [2, 3, 2], dtype: int32}",
		"- Y = scatter_add(ids, X, rows=4)\n- Z = scatter_add(ids, X, rows=2, blocks=2)\n- W = scatter_add(ids, v, rows=5)\n"+
			"- I = scatter_add(ids, n, rows=5)\n- J = scatter_add(ids, n, rows=2, batches=1)\n- K = scatter_add(ids, n, rows=2, blocks=2)\n"+
			"- L = scatter_add(ids, N, rows=4)"))
	matrix, vector := array([]int64{2, 3, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), array([]int64{2, 3}, 1, 2, 4, 8, 16, 32)
	values := mustEvaluate(t, p, map[string]*Array{"ids": array([]int64{2, 3}, 1, 3, 1, -1, 4, 1), "X": matrix, "N": matrix, "v": vector,
		"n": vector})
	rows, elements := []float64{0, 0, 17, 20, 0, 0, 3, 4}, []float64{0, 37, 0, 2, 16}
	for name, want := range map[string][]float64{"Y": rows, "Z": rows, "L": rows, "W": elements, "I": elements, "J": {0, 5, 0, 32},
		"K": elements[:4]} {
		if got := values[name].Data; !slices.Equal(got, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// TestCompositesOfOneAxis checks that the result for a tensor with one axis is that of a matrix with one row. It also checks
// linear with two types of quantization, and quantize for one axis.
func TestCompositesOfOneAxis(t *testing.T) {
	for _, op := range []string{"argmax(%s)", "softmax(%s)", "log_softmax(%s)", "softmax_grad(%[1]s, %[1]s)", "log_softmax_grad(%[1]s, %[1]s)",
		"normalize(%s)", "normalize_grad(%[1]s, %[1]s)", "rms_norm(%s)", "layer_norm(%[1]s, X, X)", "mean(%s)", "cumsum(%s)"} {
		p := mustLoad(t, spec("X: [4]", "- R = broadcast(X, axis=0)\n- Y = "+fmt.Sprintf(op, "X")+"\n- Z = "+fmt.Sprintf(op, "R")))
		values := mustEvaluate(t, p, map[string]*Array{"X": array([]int64{4}, 1, -2, 4, 0.5)})
		if got, want := values["Y"], values["Z"]; len(got.Shape) != 1 || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s = %v, want %v", op, got, want.Data)
		}
	}
	types := spec("X: [3, 16], W: [2, 16]", "- Y = linear(X, W, quantize=[fp8_e5m2, fp8_e4m3])\n- Q, scaleX = quantize(X, dtype=fp8_e5m2)\n"+
		"- V, scaleW = quantize(W, dtype=fp8_e4m3)\n- Z = scaled_linear(Q, scaleX, V, scaleW)")
	x, w := array([]int64{3, 16}, make([]float64, 48)...), array([]int64{2, 16}, make([]float64, 32)...)
	for i := range x.Data {
		x.Data[i], w.Data[i%32] = math.Sin(float64(i)), math.Cos(float64(i))
	}
	if values := mustEvaluate(t, mustLoad(t, types), map[string]*Array{"X": x, "W": w}); !slices.Equal(values["Y"].Data, values["Z"].Data) {
		t.Errorf("quantized to two types: %v and %v", values["Y"], values["Z"])
	}
	p := mustLoad(t, spec("X: [4]", "- Q, scale = quantize(X, dtype=fp8_e4m3)\n- Y = dequantize(Q, scale, dtype=fp32)"))
	x = array([]int64{4}, 448, -224, 56, 7)
	if got := mustEvaluate(t, p, map[string]*Array{"X": x})["Y"]; !slices.Equal(got.Data, x.Data) {
		t.Errorf("quantized: %v", got)
	}
}

// TestWhereLeavesOutWhatIsInfinite checks that where can drop elements that are infinite or NaN, and that its mask may have
// another type than the other operands.
func TestWhereLeavesOutWhatIsInfinite(t *testing.T) {
	p := mustLoad(t, "hirgen: 1\nname: p\ndtype: bf16\ntensors: {M: {axes: [3], dtype: fp32}, A: [3], B: [3]}\nops: [\"Y = where(M, A, B)\", "+
		"\"Z = masked(A, B)\"]")
	inf := math.Inf(1)
	values := mustEvaluate(t, p, map[string]*Array{
		"M": array([]int64{3}, 1, 0, 1e-30), "A": array([]int64{3}, 5, inf, -inf), "B": array([]int64{3}, math.NaN(), 2, 0),
	})
	for i, want := range []float64{5, 2, -inf} {
		if got := values["Y"].Data[i]; got != want {
			t.Errorf("Y[%d] = %v, want %v", i, got, want)
		}
	}
	if got := values["Z"].Data; got[0] != 5 || got[1] != inf || got[2] != -inf {
		t.Errorf("Z = %v", got)
	}
	for _, tensor := range p.Tensors {
		if tensor.Name == "Y" && tensor.DType != domain.BF16 {
			t.Errorf("Y is %s", tensor.DType)
		}
	}
}

// TestCausalSoftmax checks that row i of a causal softmax of r rows and c columns is the softmax of columns 0 to i + c - r.
func TestCausalSoftmax(t *testing.T) {
	x := []float64{0.5, -1, 2, 3, 0.25, -0.75}
	p := mustLoad(t, spec("X: [2, 3]", "- Y = softmax(X, causal=true)"))
	got := mustEvaluate(t, p, map[string]*Array{"X": array([]int64{2, 3}, x...)})["Y"].Data
	for row, columns := range []int{2, 3} {
		sum := 0.0
		for j := range columns {
			sum += math.Exp(x[row*3+j])
		}
		for j := range 3 {
			want := 0.0
			if j < columns {
				want = math.Exp(x[row*3+j]) / sum
			}
			if math.Abs(got[row*3+j]-want) > 1e-6 {
				t.Errorf("row %d, column %d: %v, not %v", row, j, got[row*3+j], want)
			}
		}
	}
}

// TestRope checks rope with operands of cosines and sines, and with positions along an axis, in bf16.
func TestRope(t *testing.T) {
	const head = "hirgen: 1\nname: p\ndtype: bf16\ntensors: {X: [3, 2, 4], c: {axes: [3, 1, 2], dtype: fp32}, s: {axes: [3, 1, 2], dtype: " +
		"fp32}}\nops:\n"
	p := mustLoad(t, head+"- Y = rope(X, c, s)\n- Z = rope(X, axis=0, base=100)\n- V = rope(X)")
	x, c, s := iota64(3, 2, 4), NewArray(3, 1, 2), NewArray(3, 1, 2)
	angle := func(at, pair int, base float64) float64 { return float64(at) * math.Pow(base, -float64(pair)/2) }
	for i := range c.Data {
		c.Data[i], s.Data[i] = math.Cos(angle(i/2, i%2, 100)), math.Sin(angle(i/2, i%2, 100))
	}
	values := mustEvaluate(t, p, map[string]*Array{"X": x, "c": c, "s": s})
	for i := range x.Data {
		pair := i % 4 % 2
		for name, a := range map[string]float64{"Y": angle(i/8, pair, 100), "Z": angle(i/8, pair, 100), "V": angle(i/4%2, pair, 10000)} {
			first, second := x.Data[i/4*4+pair], x.Data[i/4*4+pair+2]
			want := first*math.Cos(a) - second*math.Sin(a)
			if i%4 >= 2 {
				want = second*math.Cos(a) + first*math.Sin(a)
			}
			if got := values[name].Data[i]; math.Abs(got-want) > 0x1p-8*math.Max(1, math.Abs(want)) {
				t.Errorf("%s[%d] = %v, not %v", name, i, got, want)
			}
		}
	}
}

// TestCompositesComputeInFP32 checks that a composite of 16-bit tensors computes in fp32 and rounds once.
func TestCompositesComputeInFP32(t *testing.T) {
	const head = "hirgen: 1\nname: p\ndtype: bf16\ntensors: {X: [2, 3]}\nops:\n"
	p := mustLoad(t, head+"- Y = softmax(X, axis=0)")
	for _, tensor := range p.Tensors {
		if narrow := tensor.Name == "X" || tensor.Name == "Y"; narrow != (tensor.DType == domain.BF16) {
			t.Errorf("%s is %s", tensor.Name, tensor.DType)
		}
	}
	values := mustEvaluate(t, p, map[string]*Array{"X": array([]int64{2, 3}, 0, 90, 1, 0, 80, -1)})
	for i, logit := range []float64{0, 10, 2, 0, -10, -2} {
		want := domain.BF16.Round(1 / (1 + math.Exp(-logit)))
		if got := values["Y"].Data[i]; got != want {
			t.Errorf("Y[%d] = %v, want %v", i, got, want)
		}
	}
	for _, op := range p.Ops {
		if op.Pos.Line != 6 {
			t.Errorf("%s has position %s, not that of the softmax", op.Out.Name, op.Pos)
		}
	}
}

// TestIntegers checks operations of integers: their types and values, masks, casts, and the rows that a gather reads by them.
func TestIntegers(t *testing.T) {
	const i32 = domain.Int32
	p := mustLoad(t, spec("I: {axes: [4], dtype: int32}, J: {axes: [4], dtype: int32}, X: [4], T: [3, 2], M: [2, 4]", `
- K = sub(I, J)
- Q = scale(I, by=-3)
- C = clamp(I, min=0, max=2)
- E = eq(I, J)
- P = mul(X, I)
- W = where(X, I, J)
- N = sum(I, axis=0)
- R = cast(X, dtype=int32)
- L = keep(I, X)
- A = argmax(M, axis=0)
- G = gather(T, A)
- V, B = top_k(M, k=2)
- H = gather(T, B)
- F = cumsum(E)
- Z = scatter_add(A, X, rows=2)
- U = gather(T, C)`))
	nan, inf := math.NaN(), math.Inf(1)
	values := mustEvaluate(t, p, map[string]*Array{
		"I": array([]int64{4}, -1, 0, 2, 7), "J": array([]int64{4}, 3, 0, 1, 7), "X": array([]int64{4}, 1.75, 2.5, nan, -inf),
		"T": array([]int64{3, 2}, 1, 2, 3, 4, 5, 6), "M": array([]int64{2, 4}, 5, 1, 7, 2, 6, 0, 7, 3),
	})
	for _, c := range []struct {
		name  string
		dtype domain.DType
		want  []float64
	}{
		{"K", i32, []float64{-4, 0, 1, 0}}, {"Q", i32, []float64{3, 0, -6, -21}},
		{"C", i32, []float64{0, 0, 2, 2}}, {"E", i32, []float64{0, 1, 0, 1}},
		{"P", domain.FP32, []float64{-1.75, 0, nan, -inf}}, {"W", i32, []float64{-1, 0, 2, 7}}, {"N", i32, []float64{8}},
		{"R", i32, []float64{1, 2, 0, math.MinInt32}}, {"L", i32, []float64{-1, 0, 2, 7}}, {"A", i32, []float64{1, 0, 0, 1}},
		{"G", domain.FP32, []float64{3, 4, 1, 2, 1, 2, 3, 4}}, {"H", domain.FP32, []float64{5, 6, 1, 2, 5, 6, 1, 2}},
		{"F", i32, []float64{0, 1, 1, 2}}, {"U", domain.FP32, []float64{1, 2, 1, 2, 5, 6, 5, 6}},
	} {
		i := slices.IndexFunc(p.Tensors, func(t *model.Tensor) bool { return t.Name == c.name })
		if got := values[c.name].Data; p.Tensors[i].DType != c.dtype || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s is %s %v, want %s %v", c.name, p.Tensors[i].DType, got, c.dtype, c.want)
		}
	}
}

// TestGatherAlongAxes compares gather with loops, along each axis and with each number of batch axes, and scatter_add
// with the transpose of gather.
func TestGatherAlongAxes(t *testing.T) {
	table := []int64{2, 3, 4, 2}
	x := NewArray(table...)
	for i := range x.Data {
		x.Data[i] = float64(i + 1)
	}
	for axis := range table {
		for batches := range axis + 1 {
			shape := slices.Concat(table[:batches], []int64{5})
			ids := NewArray(shape...)
			for i := range ids.Data {
				ids.Data[i] = float64(i*7%6 - 1) // some ids are out of range
			}
			list := func(shape []int64) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ",") }
			attrs := fmt.Sprintf(", axis=%d", axis)
			if batches > 0 {
				attrs += fmt.Sprintf(", batches=%d", batches)
			}
			p := mustLoad(t, spec("T: "+list(table)+", I: {axes: "+list(shape)+", dtype: int32}", "- Y = gather(T, I"+attrs+")"))
			got := mustEvaluate(t, p, map[string]*Array{"T": x, "I": ids})["Y"]
			step, outer, at := strides(table), int(strides(table)[axis]*table[axis]), 0
			for o := range len(x.Data) / outer {
				batch := o * outer * int(max(1, lists.Product(table[:batches], func(n int64) int64 { return n }))) / len(x.Data)
				for n := range 5 {
					for c := range int(step[axis]) {
						want, row := 0.0, ids.Data[batch*5+n]
						if row >= 0 && row < float64(table[axis]) {
							want = x.Data[o*outer+int(row)*int(step[axis])+c]
						}
						if got.Data[at] != want {
							t.Fatalf("axis %d, %d batches: element %d is %v, want %v", axis, batches, at, got.Data[at], want)
						}
						at++
					}
				}
			}
			if at != len(got.Data) {
				t.Errorf("axis %d, %d batches: %d elements, want %d", axis, batches, len(got.Data), at)
			}
		}
	}
	p := mustLoad(t, spec("I: {axes: [2, 3], dtype: int32}, X: [2, 3, 2]", "- Y = scatter_add(I, X, rows=2, batches=1)"))
	got := mustEvaluate(t, p, map[string]*Array{"I": array([]int64{2, 3}, 1, 1, 0, 5, 0, 1),
		"X": array([]int64{2, 3, 2}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)})["Y"].Data
	if want := []float64{5, 6, 4, 6, 9, 10, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("scatter_add in batches is %v, want %v", got, want)
	}
}
