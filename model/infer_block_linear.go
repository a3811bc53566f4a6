package model

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// inferBlockLinear derives the result of block_linear(X, W, S, T), a linear operation on fp8 operands. S has a scale
// for each domain.BlockRow elements of a row of X, and T has a scale for each square block of W. The result is bf16 or
// fp32: cuBLASLt scales the sums of blocks in fp32, and rounds once.
func inferBlockLinear(in *inference) bool {
	for i, t := range in.op.In {
		if i < 2 && !t.DType.Saturates() || i >= 2 && t.DType != domain.FP32 {
			in.a.list.Add(in.src.args[i].pos, diag.DTypeMismatch, "block_linear multiplies numbers of 8 bits with scales in fp32, and %s is %s",
				t.Name, t.DType).WithHint("quantize the operands, or multiply with linear")
			return false
		}
	}
	if x, w := in.op.In[0], in.op.In[1]; x.DType == domain.FP8E5M2 && w.DType == domain.FP8E5M2 {
		in.fail(diag.DTypeMismatch, "cuBLASLt has no GEMM of two fp8_e5m2 operands, and %s and %s are", x.Name, w.Name).
			WithHint("make one of them fp8_e4m3")
		return false
	}
	if !inferLinear(in) || !in.blocksFit(0, 1) || !in.blocksFit(1, 2) {
		return false
	}
	if in.dtype != domain.BF16 && in.dtype != domain.FP32 {
		in.fail(diag.BadAttribute, "block_linear gives bf16 or fp32, not %s", in.dtype).WithHint("write dtype=fp32, and cast the result")
		return false
	}
	return true
}

// blocksFit checks that operand at has whole blocks along its last axes, whose number is axes, and that operand at+2
// has one scale for each block.
func (in *inference) blocksFit(at, axes int) bool {
	q, s := in.op.In[at], in.op.In[at+2]
	shape := domain.Shape(q.Axes)
	want := slices.Clone(shape)
	for i := len(want) - axes; i < len(want); i++ {
		if want[i]%domain.BlockRow != 0 {
			in.a.list.Add(in.src.args[at].pos, diag.ShapeMismatch, "scales are for blocks of %d elements, and axis %d of %s has %d",
				domain.BlockRow, i, q.Name, want[i]).WithHint("scales of rows fit any extent")
			return false
		}
		want[i] /= domain.BlockRow
	}
	if got := domain.Shape(s.Axes); !slices.Equal(got, want) {
		in.a.list.Add(in.src.args[at+2].pos, diag.ShapeMismatch, "%s has no scale for each block of %s: their shapes are %s and %s", s.Name,
			q.Name, domain.FormatShape(got), domain.FormatShape(shape)).WithHint("its shape would be %s", domain.FormatShape(want))
		return false
	}
	return true
}
