package eval

import (
	"math"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/model/domain"
)

// TestQuantize checks the scales of rows, blocks and whole tensors, and the error of the dequantized elements.
func TestQuantize(t *testing.T) {
	x := []float64{1, -2, 3.5, 1792, 0, 0, 0, 0, 0.125, 0.25, -448, 0.3}
	for attrs, want := range map[string][]float64{
		"dtype=fp8_e4m3":                              {4, 1, 1},
		"dtype=fp8_e4m3, whole=true":                  {4},
		"dtype=fp8_e4m3, block=2":                     {2. / 448, 4, 1, 1, 0.25 / 448, 1},
		"dtype=fp8_e5m2, block=2, powers_of_two=true": {0x1p-14, 0x1p-5, 1, 1, 0x1p-17, 0x1p-7},
	} {
		p := mustLoad(t, spec("X: [3, 4]", "- Q, scale = quantize(X, "+attrs+")\n- Y = dequantize(Q, scale, dtype=fp32)"))
		values := mustEvaluate(t, p, map[string]*Array{"X": array([]int64{3, 4}, x...)})
		for i, got := range values["scale"].Data {
			if math.Abs(got/want[i]-1) > 1e-7 {
				t.Errorf("%s: scale %d is %v, not %v", attrs, i, got, want[i])
			}
		}
		group := len(x) / len(want)
		for i, got := range values["Y"].Data {
			if s := want[i/group]; math.Abs(got-x[i]) > domain.FP8E5M2.Epsilon()/2*math.Abs(x[i])+s*0x1p-10 {
				t.Errorf("%s: element %d is %v, not %v", attrs, i, got, x[i])
			}
		}
	}
}

// TestQuantizeSquares checks the scales of blocks of two rows and two columns, and the dequantized elements.
func TestQuantizeSquares(t *testing.T) {
	x := []float64{1, -2, 3.5, 1792, 0, 0, 0, 0, 0.125, 0.25, -448, 0.3, 448, 1, 2, 3}
	p := mustLoad(t, spec("X: [4, 4]", "- Q, scale = quantize(X, dtype=fp8_e4m3, block=2, block_rows=2)\n"+
		"- Y = dequantize(Q, scale, dtype=fp32)"))
	values := mustEvaluate(t, p, map[string]*Array{"X": array([]int64{4, 4}, x...)})
	want := []float64{2. / 448, 4, 1, 1}
	for i, got := range values["scale"].Data {
		if math.Abs(got/want[i]-1) > 1e-7 {
			t.Errorf("scale %d is %v, not %v", i, got, want[i])
		}
	}
	for i, got := range values["Y"].Data {
		if s := want[i/8*2+i%4/2]; math.Abs(got-x[i]) > domain.FP8E4M3.Epsilon()/2*math.Abs(x[i])+s*0x1p-10 {
			t.Errorf("element %d is %v, not %v", i, got, x[i])
		}
	}
}

// TestDequantizeBF16 checks that dequantize also multiplies a 16-bit operand by the scales of square blocks.
func TestDequantizeBF16(t *testing.T) {
	p := mustLoad(t, spec("Q: {axes: [4, 4], dtype: bf16}, scale: {axes: [2, 2], dtype: fp32}", "- Y = dequantize(Q, scale)"))
	ones := slices.Repeat([]float64{1}, 16)
	values := mustEvaluate(t, p, map[string]*Array{"Q": array([]int64{4, 4}, ones...), "scale": array([]int64{2, 2}, 1, 2, 3, 4)})
	if got, want := values["Y"].Data, []float64{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
