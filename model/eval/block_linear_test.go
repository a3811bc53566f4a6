package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

// TestBlockLinear compares a block-scaled GEMM with the linear operation on the dequantized operands, for matrices and
// for batches.
func TestBlockLinear(t *testing.T) {
	for _, batch := range []string{"", "2, "} {
		p := mustLoad(t, fmt.Sprintf(`hirgen: 1
name: p
dtype: fp32
tensors:
  Q: {axes: [%[1]s3, 384], dtype: fp8_e4m3}
  S: [%[1]s3, 3]
  W: {axes: [%[1]s256, 384], dtype: fp8_e4m3}
  T: [%[1]s2, 3]
ops:
- Y = scaled_linear(Q, S, W, T)
- X = dequantize(Q, S)
- V = dequantize(W, T)
- Want = linear(X, V)
`, batch))
		random := rand.New(rand.NewPCG(1, 2))
		inputs := map[string]*Array{}
		for _, in := range p.Inputs {
			a := NewArray(domain.Shape(in.Axes)...)
			for i := range a.Data {
				a.Data[i] = in.DType.Round(random.NormFloat64())
			}
			inputs[in.Name] = a
		}
		values, err := RunFloat64(p, inputs)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range values["Y"].Data {
			if want := values["Want"].Data[i]; math.Abs(got-want) > 1e-9 {
				t.Fatalf("batch %q: element %d is %v, not %v", batch, i, got, want)
			}
		}
		rounded, bounds, err := Bounds(p, inputs)
		if err != nil {
			t.Fatal(err)
		}
		if n := Wrong(values["Y"].Data, rounded["Y"].Data, bounds["Y"].Data); n > 0 {
			t.Errorf("batch %q: %d elements without rounding are called wrong", batch, n)
		}
		inputs["T"].Data[1] *= 1.2
		wrong := mustEvaluate(t, p, inputs)
		if n, rows := Wrong(wrong["Y"].Data, rounded["Y"].Data, bounds["Y"].Data), 3; n < rows*64 {
			t.Errorf("batch %q: another scale changes %d elements more than the bounds allow", batch, n)
		}
	}
}
