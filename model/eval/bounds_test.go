package eval

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// smallSizes are values of the parameters of the examples.
var smallSizes = map[string]int64{
	"D": 4, "S": 4, "M": 64, "N": 48, "K": 32, "B": 2, "L": 8, "H": 16, "G": 8, "C": 4, "E": 64, "F": 32, "R": 2,
}

// TestBoundsRefuseWrongOutputs checks that the bounds reject wrong outputs of the examples, such as a bug in a program
// may cause.
func TestBoundsRefuseWrongOutputs(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/specs/*/spec.yaml")
	made, found, all := map[string]int{}, map[string]int{}, 0
	for _, file := range files {
		p, _, err := model.LoadFile(file, nil)
		if err != nil {
			t.Fatal(err)
		}
		sizes := map[string]int64{}
		for _, param := range p.Params {
			sizes[param.Name] = smallSizes[param.Name]
		}
		if p, _, err = model.LoadFile(file, sizes); err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(4) {
			inputs := FillNormal(p, seed)
			save(p, inputs)
			right, bounds, err := Bounds(p, inputs)
			if err != nil {
				t.Fatal(err)
			}
			unrounded, err := RunFloat64(p, inputs)
			if err != nil {
				t.Fatal(err)
			}
			mistakes(p, right, func(kind string, out *model.Tensor, wrong *Array) {
				want := right[out.Name]
				farthest := func(other *Array) float64 { return slices.Max(combined(other, want, apart).Data) }
				if farthest(wrong) < max(4*out.DType.Epsilon()*RootMeanSquare(want), 8*farthest(unrounded[out.Name])) {
					return // rounding alone may make such a difference
				}
				made[kind]++
				all++
				if Wrong(wrong.Data, want.Data, bounds[out.Name].Data) > 0 {
					found[kind]++
				} else {
					t.Errorf("%s: %s of %s is called right", file, kind, out.Name)
				}
			})
		}
	}
	t.Logf("found %v of %v, %d in all", found, made, all)
	if all < 1000 {
		t.Errorf("only %d outputs are wrong", all)
	}
}

// mistakes calls try with wrong outputs: zeros, the shards of other ranks, and outputs without the partial sum of one
// rank.
func mistakes(p *model.Pipeline, right map[string]*Array, try func(kind string, out *model.Tensor, wrong *Array)) {
	for _, out := range p.Outputs {
		want := right[out.Name]
		try("zeros", out, NewArray(want.Shape...))
		axis, ranks := 0, int64(p.Meshes[0].Size())
		for i, a := range domain.WithoutReductions(out.Axes) {
			if a.Kind == domain.Device {
				axis, ranks = i, out.Mesh.Axis(a.Mesh).Size
			}
		}
		if extent := want.Shape[axis]; ranks > 1 && extent%ranks == 0 {
			inner := strides(want.Shape)[axis]
			shard := extent / ranks
			moved := func(from func(rank int64) int64) *Array {
				wrong := NewArray(want.Shape...)
				for i := range wrong.Data {
					at := int64(i) / inner % extent
					wrong.Data[i] = want.Data[int64(i)+(from(at/shard)*shard+at%shard-at)*inner]
				}
				return wrong
			}
			try("a neighbour's shard", out, moved(func(rank int64) int64 { return (rank + 1) % ranks }))
			try("two ranks swapped", out, moved(func(rank int64) int64 {
				if rank < 2 {
					return 1 - rank
				}
				return rank
			}))
		}
	}
	for i, op := range p.Ops {
		sum := op.Kind == model.OpReduce && op.Fn == "sum"
		if !sum && !isProduct(op) {
			continue
		}
		part, values := *op, maps.Clone(right)
		less := &Array{right[op.In[0].Name].Shape, slices.Clone(right[op.In[0].Name].Data)}
		axis := len(less.Shape) - 1
		if sum {
			axis = op.Axis
		}
		extent, inner := less.Shape[axis], strides(less.Shape)[axis]
		for e := range less.Data {
			if int64(e)/inner%extent < max(1, extent/int64(p.Meshes[0].Size())) {
				less.Data[e] = 0
			}
		}
		part.In = append([]*model.Tensor{{Name: "part"}}, op.In[1:]...)
		values["part"] = less
		singles.evaluateAll(append([]*model.Op{&part}, p.Ops[i+1:]...), values)
		for _, out := range p.Outputs {
			if !math.IsNaN(values[out.Name].Data[0]) {
				try("a missing part of a sum", out, values[out.Name])
			}
		}
	}
}

// TestBoundsOfChosenElements checks that masks, maxima and indices of unrounded inputs have a bound of 0, because operations
// only choose their elements.
func TestBoundsOfChosenElements(t *testing.T) {
	p := mustLoad(t, "hirgen: 1\nname: p\ndtype: bf16\ntensors: {A: [2, 3], B: [2, 3]}\nops: [\"E = ge(A, B)\", \"M = masked(A, E)\", "+
		"\"Y = max(M, axis=1)\", \"Z = argmax(A)\", \"W = where(E, A, B)\", \"V = neg(Z)\", \"K, I = top_k(A, k=3)\"]")
	values, bounds, err := Bounds(p, map[string]*Array{
		"A": array([]int64{2, 3}, 0.5, -1, 2, 3, 0.25, -0.75), "B": array([]int64{2, 3}, 1, -2, 2, 4, 1, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"E": 0, "M": 0, "Y": 0, "Z": 0, "W": 0.1, "K": 0, "I": 0} {
		if largest := slices.Max(bounds[name].Data); largest > want {
			t.Errorf("%s: values %v have bounds of up to %v", name, values[name].Data, largest)
		}
	}
}

// TestBoundsOfLargestElements checks that the indices of the largest of rounded elements are compared where no rounding can change them,
// and are not where two elements are nearly equal.
func TestBoundsOfLargestElements(t *testing.T) {
	p := mustLoad(t, "hirgen: 1\nname: p\ndtype: bf16\ntensors: {A: [4, 2, 3]}\nops: [\"X = exp(A)\", \"Z = argmax(X, axis=1)\", "+
		"\"V, I = top_k(X, k=2)\", \"M = max(X, axis=2)\", \"R = reshape(M, shape=[4, 2, 1])\", \"G = ge(X, R)\", "+
		"\"F = cast(X, dtype=fp32)\", \"N = max(F, axis=2)\", \"S = reshape(N, shape=[4, 2, 1])\", \"H = ge(F, S)\"]")
	values, bounds, err := Bounds(p, map[string]*Array{"A": array([]int64{4, 2, 3},
		0, 1, 2, 3, 2, 1,
		1, 1.001, 0, 0, 1, 2,
		0, math.Inf(-1), math.Inf(-1), 0, 1, 2,
		math.NaN(), 0, 1, 1, 0, 2)})
	if err != nil {
		t.Fatal(err)
	}
	for name, uncertain := range map[string][]int{"Z": {4, 6, 10}, "I": {4, 5, 9},
		"G": {2, 3, 6, 7, 11, 12, 17, 23}, "H": {6, 7}} { // a kernel may compare X with a maximum that was rounded

		var got []int
		for i, e := range bounds[name].Data {
			if e > 0 {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, uncertain) {
			t.Errorf("%s: elements %v of %v are not certain, want %v", name, got, values[name].Data, uncertain)
		}
	}
}

// TestBoundsOfPartialSums checks that no element of a product is wrong whose partial sums round to bf16 on each of 2 or 4
// ranks, and again at each step of a ring.
func TestBoundsOfPartialSums(t *testing.T) {
	const rows, terms = 512, 16
	for _, ranks := range []int{2, 4} {
		p := mustLoad(t, fmt.Sprintf("hirgen: 1\nname: p\nmesh: {x: %d}\ndtype: bf16\ntensors: {A: [%d, %d], B: [%d, %d]}\n"+
			"ops: [\"Y = matmul(A, B)\"]\noutputs: [Y]\n", ranks, rows, terms, terms, rows))
		for seed := range uint64(2) {
			inputs := FillNormal(p, seed)
			values, bounds, err := Bounds(p, inputs)
			if err != nil {
				t.Fatal(err)
			}
			a, b, round := inputs["A"].Data, inputs["B"].Data, domain.BF16.Round
			got := make([]float64, rows*rows)
			for i := range got {
				for k := 0; k < terms; k += terms / ranks {
					part := 0.0
					for j := k; j < k+terms/ranks; j++ {
						part += a[i/rows*terms+j] * b[j*rows+i%rows]
					}
					got[i] = round(got[i] + round(part))
				}
			}
			if wrong := Wrong(got, values["Y"].Data, bounds["Y"].Data); wrong > 0 {
				t.Errorf("%d ranks, seed %d: %d of %d right elements are called wrong", ranks, seed, wrong, len(got))
			}
		}
	}
}

// TestBoundsOfRepeatedElements checks that 64 elements that repeat the errors of 4 tighten the bounds no more than these 4.
func TestBoundsOfRepeatedElements(t *testing.T) {
	p := mustLoad(t, "hirgen: 1\nname: p\nmesh: {x: 2}\ndtype: bf16\ntensors: {A: [1, DIDx(2)], B: [DIDx(2), 4], C: [16, 4]}\n"+
		"ops: [\"T = matmul(A, B)\", \"Y = max(T, C)\"]\noutputs: [T, Y]\n")
	inputs := FillNormal(p, 1)
	for i := range inputs["C"].Data {
		inputs["C"].Data[i] = -64
	}
	_, bounds, err := Bounds(p, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range bounds["Y"].Data {
		if want := bounds["T"].Data[i%4]; e < 0.99*want {
			t.Fatalf("element %d has the bound %v, and %v where it is computed", i, e, want)
		}
	}
}

// TestBoundsOfOverflow checks that an element that may overflow has an infinite bound, and so have all results that depend
// on this element, even NaN.
func TestBoundsOfOverflow(t *testing.T) {
	for op := range strings.SplitSeq("scale(N, by=2)/cos(N)/div(X, X)/mul(N, A)/sub(N, X)/max(N, axis=3)/prod(N, axis=3)/softmax(N)/"+
		"matmul(A, N)/sum(N, axis=3)/attention(N, A, A)", "/") {
		p := mustLoad(t, "hirgen: 1\nname: s\nmesh: {x: 1}\ndtype: bf16\ntensors: {A: [1, 1, 4, 4]}\n"+
			"ops: [\"B = shift(A, by=100)\", \"X = exp(B)\", \"N = sub(X, X)\", \"Y = "+op+"\"]\n")
		values, bounds, err := Bounds(p, FillNormal(p, 1))
		if err != nil || !math.IsNaN(values["Y"].Data[0]) || !math.IsInf(bounds["Y"].Data[0], 1) {
			t.Errorf("%s is %v within %v: %v", op, values["Y"], bounds["Y"], err)
		}
	}
}

// TestBoundsOfGelu checks that gelu_tanh may lose the digits that 1 + tanh loses.
func TestBoundsOfGelu(t *testing.T) {
	p := mustLoad(t, "hirgen: 1\nname: s\nmesh: {x: 1}\ndtype: fp32\ntensors: {A: [1]}\nops: [\"Y = gelu_tanh(A)\"]\n")
	values, bounds, err := Bounds(p, map[string]*Array{"A": {[]int64{1}, []float64{-3.9}}})
	if err != nil || bounds["Y"].Data[0] < 3.9*0x1p-24 || bounds["Y"].Data[0] > math.Abs(values["Y"].Data[0])/10 {
		t.Errorf("Y is %v within %v: %v", values["Y"], bounds["Y"], err)
	}
}

// TestBoundsOfSaturatedInfinity checks that a number that a cast made of an infinity may overflow in a kernel, or not.
func TestBoundsOfSaturatedInfinity(t *testing.T) {
	p := mustLoad(t, "hirgen: 1\nname: s\nmesh: {x: 1}\ndtype: fp16\ntensors: {A: [4]}\nops: [\"Z = sub(A, A)\", \"R = rsqrt(Z)\", "+
		"\"Q = cast(R, dtype=fp8_e4m3)\", \"S = cast(Q, dtype=fp16)\", \"T = scale(S, by=1e9)\", "+
		"\"Y = cast(T, dtype=bf16)\"]\n")
	values, bounds, err := Bounds(p, FillNormal(p, 1))
	if err != nil || !math.IsInf(values["Y"].Data[0], 1) || !math.IsInf(bounds["Y"].Data[0], 1) {
		t.Errorf("Y is %v within %v: %v", values["Y"], bounds["Y"], err)
	}
}

// TestBoundsOfDroppedNaN checks that a NaN of a max has an infinite bound in a program of several ranks, because NCCL may
// drop NaN.
func TestBoundsOfDroppedNaN(t *testing.T) {
	for ranks, unsure := range map[string]bool{"1": false, "2": true} {
		p := mustLoad(t, "hirgen: 1\nname: s\nmesh: {x: "+ranks+"}\ndtype: fp32\ntensors: {A: [2, 64], B: [64]}\n"+
			"ops: [L = log(A), \"m = max(L, axis=0)\", \"Y = gt(B, m)\"]\nfill: {A: normal}\n")
		values, bounds, err := Bounds(p, FillNormal(p, 1))
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values["m"].Data {
			if math.IsNaN(v) && (math.IsInf(bounds["m"].Data[i], 1) != unsure || bounds["Y"].Data[i] >= 1 != unsure) {
				t.Errorf("%s ranks: max within %v, gt within %v", ranks, bounds["m"].Data[i], bounds["Y"].Data[i])
			}
		}
	}
}

// TestBoundsOfIntegers checks that a cast to integers has a bound where it may drop a fraction just above 0 or just
// below 1, and that a row that a gather reads by such a number may have any values. A cosine may have any value if its
// angle is uncertain by seven turns.
func TestBoundsOfIntegers(t *testing.T) {
	p := mustLoad(t, spec("A: [3], T: [4, 2]", "- E = exp(A)\n- I = cast(E, dtype=int32)\n- G = gather(T, I)\n"+
		"- F = cast(I, dtype=fp32)\n- R = scale(F, by=44)\n- C = cos(R)"))
	inputs := map[string]*Array{"A": array([]int64{3}, 0, 0.5, 1), "T": array([]int64{4, 2}, 1, 2, 3, 4, 5, 6, 7, 8)}
	_, bounds, err := Bounds(p, inputs)
	if err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	if got := bounds["C"].Data; got[0] < 2 || got[1] > 1e-4 {
		t.Errorf("the bounds of C are %v", got)
	}
	for name, want := range map[string][]float64{"I": {1, 0, 0}, "G": {inf, inf, 0, 0, 0, 0}} {
		if got := bounds[name].Data; !slices.Equal(got, want) {
			t.Errorf("the bounds of %s are %v, want %v", name, got, want)
		}
	}
}

// TestBoundsOfSumsOfIntegers checks that sums and products of integers below 2^24 have no error, so that a row number that they
// make is certain.
func TestBoundsOfSumsOfIntegers(t *testing.T) {
	p := mustLoad(t, spec("A: [3], T: [6, 1]", "- W = scale(A, by=2)\n- U = add(W, A)\n- I = cast(U, dtype=int32)\n"+
		"- G = gather(T, I)\n- F = scale(A, by=0.3)\n- L = scale(A, by=16)\n- B = mul(L, L)\n- V = scale(A, by=100)\n"+
		"- H = shift(A, by=16777000)"))
	inputs := map[string]*Array{"A": array([]int64{3}, 0, 1, 1023), "T": array([]int64{6, 1}, 1, 2, 3, 4, 5, 6)}
	_, bounds, err := Bounds(p, inputs)
	if err != nil {
		t.Fatal(err)
	}
	for name, certain := range map[string][]bool{
		"W": {true, true, true}, "U": {true, true, true}, "I": {true, true, true}, "F": {false, false, false}, "B": {true, true, false},
		"V": {true, true, true}, "H": {true, true, false},
	} {
		for i, e := range bounds[name].Data {
			if (e == 0) != certain[i] {
				t.Errorf("element %d of %s has the bound %g", i, name, e)
			}
		}
	}
	if got := bounds["G"].Data; got[0] != 0 || got[1] != 0 {
		t.Errorf("the bounds of G are %v", got)
	}
}

// TestBoundsOfLeaps checks that two uncertain integers can both be one less: their errors add up in sums, products and
// elementwise operations, and so do roundings of these. The error of a sum whose terms are certain stays small.
func TestBoundsOfLeaps(t *testing.T) {
	p := mustLoad(t, spec("A: [2, 16], B: [2, 16], W: [16, 1]", "- E = exp(A)\n- I = cast(E, dtype=int32)\n- F = cast(I, dtype=fp32)\n"+
		"- G = exp(B)\n- J = cast(G, dtype=int32)\n- H = cast(J, dtype=fp32)\n- T = sum(F, axis=1)\n- P = matmul(F, W)\n- U = sub(F, H)\n"+
		"- M = mul(F, H)\n- Q = scale(P, by=0.3)\n- N = matmul(E, W)"))
	ones := slices.Repeat([]float64{1}, 16)
	half := slices.Concat(make([]float64, 16), slices.Repeat([]float64{0.5}, 16)) // exp(0) is an integer, exp(0.5) is not
	_, bounds, err := Bounds(p, map[string]*Array{"A": {[]int64{2, 16}, half}, "B": {[]int64{2, 16}, half}, "W": {[]int64{16, 1}, ones}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]float64{
		"I": {1, 1}, "T": {16, 16.1}, "P": {16, 16.1}, "U": {2, 2.1}, "M": {3, 3.1}, "Q": {4.8, 4.9}, "N": {1e-7, 1e-3},
	} {
		if got := bounds[name].Data[0]; got < want[0] || got > want[1] {
			t.Errorf("the bound of %s is %v, want %v", name, got, want)
		}
		if got := bounds[name].Data[len(bounds[name].Data)-1]; got > 1e-3 {
			t.Errorf("the bound of a certain element of %s is %v", name, got)
		}
	}
}

// TestBoundsOfLeapsInBlocks checks that powers of two, as scales of blocks, can all be half or double.
func TestBoundsOfLeapsInBlocks(t *testing.T) {
	p := mustLoad(t, "hirgen: 1\nname: s\nmesh: {x: 1}\ndtype: fp32\ntensors: {X: {axes: [1, 256], dtype: fp8_e4m3}, "+
		"W: {axes: [128, 256], dtype: fp8_e4m3}, A: [1, 2], T: [1, 2]}\n"+
		"ops: [E = exp(A), S = ceil_pow2(E), \"Y = block_linear(X, W, S, T, dtype=fp32)\"]\n")
	fill := func(n int) []float64 { return slices.Repeat([]float64{1}, n) }
	_, bounds, err := Bounds(p, map[string]*Array{"X": {[]int64{1, 256}, fill(256)}, "W": {[]int64{128, 256}, fill(128 * 256)},
		"A": {[]int64{1, 2}, make([]float64, 2)}, "T": {[]int64{1, 2}, fill(2)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := bounds["Y"].Data[0]; got < 256 || got > 300 {
		t.Errorf("the bound is %v, want about 256", got)
	}
}

// TestBoundsOfSoftmax checks that logits in bf16 leave the results of a softmax bounds that contain the results for logits with other
// roundings. They are finite also if the bound of a sum of exponentials is larger than the sum.
func TestBoundsOfSoftmax(t *testing.T) {
	for _, by := range []float64{1, 8, 64} {
		p := mustLoad(t, fmt.Sprintf("hirgen: 1\nname: s\nmesh: {x: 2}\ndtype: bf16\ntensors: {A: [32, 64], B: [64, 32]}\n"+
			"ops: [\"L = matmul(A, B)\", \"X = scale(L, by=%g)\", \"Y = softmax(X)\"]\n", by))
		values, bounds, err := Bounds(p, FillNormal(p, 1))
		if err != nil {
			t.Fatal(err)
		}
		y, e := values["Y"].Data, bounds["Y"].Data
		if largest := slices.Max(e); math.IsInf(largest, 1) {
			t.Errorf("by %v: the largest bound is %v", by, largest)
		}
		for i := range 32 {
			logits := slices.Clone(values["X"].Data[i*32 : i*32+32])
			most, sum := slices.Max(logits), 0.0
			for j, v := range logits {
				logits[j] = math.Exp(domain.BF16.Round(v*(1+float64(j%2)*0x1p-8)) - most)
				sum += logits[j]
			}
			for j, v := range logits {
				if got := domain.BF16.Round(v / sum); math.Abs(got-y[i*32+j]) > e[i*32+j] {
					t.Fatalf("by %v: %v is called wrong, which is %v within %v", by, got, y[i*32+j], e[i*32+j])
				}
			}
		}
	}
}

// TestBoundsOfZeros checks that an infinity at a pole is not certain if the sign of a computed zero decides it.
func TestBoundsOfZeros(t *testing.T) {
	p := mustLoad(t, spec("A: [1, 2], B: [1], K: [1]", "- T = sum(A, axis=1)\n- R = rsqrt(T)\n"+
		"- Q = reciprocal(T)\n- U = div(K, T)\n- C = reciprocal(B)"))
	values, bounds, err := Bounds(p, map[string]*Array{"A": array([]int64{1, 2}, 1, -1), "B": array([]int64{1}, 0), "K": array([]int64{1}, 1)})
	if err != nil {
		t.Fatal(err)
	}
	for name, certain := range map[string]bool{"R": false, "Q": false, "U": false, "C": true} {
		if got := bounds[name].Data[0]; !math.IsInf(values[name].Data[0], 0) || (got == 0) != certain {
			t.Errorf("%s is %v within %v", name, values[name].Data[0], got)
		}
	}
}

// TestBoundsOfLogSoftmax checks that large logits in bf16 leave the results of a log_softmax finite bounds, which contain the results for
// logits with other roundings and reject a sum without the largest exponential. The logarithm of a sum that may underflow, or depends
// on a logit that may overflow, has an infinite bound.
func TestBoundsOfLogSoftmax(t *testing.T) {
	for _, by := range []float64{1, 8, 64, 300} {
		p := mustLoad(t, fmt.Sprintf("hirgen: 1\nname: s\nmesh: {x: 2}\ndtype: bf16\ntensors: {A: [32, 64], B: [64, 32]}\n"+
			"ops: [\"L = matmul(A, B)\", \"X = scale(L, by=%g)\", \"Y = log_softmax(X)\"]\n", by))
		values, bounds, err := Bounds(p, FillNormal(p, 1))
		if err != nil {
			t.Fatal(err)
		}
		y, e := values["Y"], bounds["Y"].Data
		if largest := slices.Max(e); largest > 0.2*by {
			t.Errorf("by %v: the largest bound is %v", by, largest)
		}
		for _, sign := range []float64{-1, 1} { // every second logit is as far off as its own rounding moves it
			row := func(i int) []float64 {
				logits := slices.Clone(values["X"].Data[i*32 : i*32+32])
				for j := range logits {
					logits[j] = domain.BF16.Round(logits[j] * (1 + sign*float64(j%2)*0x1p-8))
				}
				return logits
			}
			for i := range 32 {
				logits := row(i)
				most, sum := slices.Max(logits), 0.0
				for _, v := range logits {
					sum += math.Exp(v - most)
				}
				for j, v := range logits {
					if got := domain.BF16.Round(v - most - math.Log(sum)); math.Abs(got-y.Data[i*32+j]) > e[i*32+j] {
						t.Fatalf("by %v: %v is called wrong, which is %v within %v", by, got, y.Data[i*32+j], e[i*32+j])
					}
				}
			}
		}
	}
	for x, finite := range map[float64]bool{-2: true, -70: true, -88: false, -120: false} {
		p := mustLoad(t, "hirgen: 1\nname: s\nmesh: {x: 1}\ndtype: fp32\ntensors: {A: [1, 4]}\n"+
			"ops: [\"B = cast(A, dtype=bf16)\", \"X = cast(B, dtype=fp32)\", \"E = exp(X)\", \"S = sum(E, axis=1)\", \"Y = log(S)\"]\n")
		values, bounds, err := Bounds(p, map[string]*Array{"A": array([]int64{1, 4}, x+0.001, 300*x, 300*x, 300*x)})
		if err != nil {
			t.Fatal(err)
		}
		if got := bounds["Y"].Data[0]; math.IsInf(got, 1) == finite {
			t.Errorf("the logarithm %v has the bound %v", values["Y"].Data[0], got)
		}
	}
}
