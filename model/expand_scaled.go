package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// scaledLinear expands scaled_linear(Q, S, W, T, bias) = S (Q W^T) T + bias. S has a scale for each row of Q, and T for
// each row of W, or either has one for all rows. The GEMM sums in fp32. If the result is bf16, the product is also
// rounded to bf16, so that the kernel that scales it reads half the bytes. The kernel then computes in fp32.
// If both operands have scales of blocks, block_linear applies the scales to the sums of blocks instead.
func scaledLinear(e *expansion) {
	blocks := e.hasBlocks(0) && e.hasBlocks(2) && (!isOne(e.op.In[1]) || !isOne(e.op.In[3]))
	if !blocks {
		fits := e.scaleFits(0)
		if !e.scaleFits(2) || !fits {
			e.broken()
			return
		}
	}
	bias := ""
	if len(e.src.args) > 4 {
		bias = e.arg(4)
	}
	args := e.src.args
	operands := []string{args[0].value, args[2].value, args[1].value, args[3].value}
	if blocks {
		e.scaledBlocks(operands, bias)
		return
	}
	e.scaled(operands, bias)
}

// hasBlocks reports whether the next operand, the scales of operand at, has as many axes as operand at, and more than
// one, as scales of blocks have. A column of scales is one of blocks only if rows have one block.
func (e *expansion) hasBlocks(at int) bool {
	q, s := domain.Shape(e.op.In[at].Axes), domain.Shape(e.op.In[at+1].Axes)
	return len(q) == len(s) && len(q) > 1 && (s[len(s)-1] > 1 || q[len(q)-1] == domain.BlockRow)
}

// scaled adds the GEMM of two fp8 tensors, the multiplications by their scales, the addition of the bias, if there is
// one, and the rounding. The operands are those of block_linear: both tensors, and then the scales of each.
func (e *expansion) scaled(operands []string, bias string) {
	q, w, s, t := operands[0], operands[1], operands[2], operands[3]
	rows := e.a.tensors[s]
	if e.a.broken[q] || e.a.broken[w] || rows == nil || e.a.tensors[t] == nil {
		e.broken()
		return
	}
	dtype := e.resultType()
	product := e.step("product", "linear", []string{q, w}, "dtype", string(productType(dtype)))
	if productType(dtype) != domain.FP32 {
		product = e.step("fp32", "cast", []string{product}, "dtype", string(domain.FP32))
	}
	if n := len(domain.Shape(rows.Axes)); !isOne(rows) {
		s = e.step("row_scale", "broadcast", []string{s}, "axis", strconv.Itoa(n))
	}
	last := e.step("row_scaled", "mul", []string{product, s})
	if bias == "" {
		e.rounded(dtype, "mul", last, e.ofBatches(t))
		return
	}
	e.rounded(dtype, "add", e.step("scaled", "mul", []string{last, e.ofBatches(t)}), e.ofBatches(bias))
}

// ofBatches inserts an axis of one row into scales of columns or a bias that have batches, so that they stretch over
// the rows.
func (e *expansion) ofBatches(name string) string {
	if n := len(domain.Shape(e.a.tensors[name].Axes)); n > 1 {
		return e.step("column", "broadcast", []string{name}, "axis", strconv.Itoa(n-1))
	}
	return name
}

// rounded adds the last step of a scaled GEMM, fn(a, b) in fp32, and rounds to dtype.
func (e *expansion) rounded(dtype domain.DType, fn, a, b string) {
	if dtype == domain.FP32 {
		e.add(e.src.out.value, fn, []string{a, b}, nil)
		return
	}
	e.add(e.src.out.value, "cast", []string{e.step("wide", fn, []string{a, b})}, []string{"dtype", string(dtype)})
}

// scaledBlocks adds the GEMM of fp8 tensors with scales of blocks, the addition of the bias, if there is one, and the
// rounding.
func (e *expansion) scaledBlocks(operands []string, bias string) {
	if slices.ContainsFunc(operands, func(name string) bool { return e.a.broken[name] || e.a.tensors[name] == nil }) {
		e.broken()
		return
	}
	dtype := e.resultType()
	product := productType(dtype)
	if bias == "" && product == dtype {
		e.add(e.src.out.value, "block_linear", operands, []string{"dtype", string(dtype)})
		return
	}
	last := e.step("product", "block_linear", operands, "dtype", string(domain.FP32))
	if e.a.broken[last] {
		e.broken()
		return
	}
	if bias != "" {
		e.rounded(dtype, "add", last, e.ofBatches(bias))
		return
	}
	e.add(e.src.out.value, "cast", []string{last}, []string{"dtype", string(dtype)})
}

// productType returns the type of the GEMM's result before it is scaled: the type of the result, but fp32 for fp16,
// whose range is too small.
func productType(result domain.DType) domain.DType {
	if result == domain.FP16 {
		return domain.FP32
	}
	return result
}

// resultType returns the type of the result: the attribute dtype, or else the type of the declared result, or else the spec's.
func (e *expansion) resultType() domain.DType {
	dtype := e.a.dtype
	if declared := e.a.tensors[e.src.out.value]; declared != nil {
		dtype = declared.DType
	}
	if attr := e.src.attr("dtype"); attr != nil {
		dtype = e.a.elementType(attr.values[0], dtype)
	}
	return dtype
}

// isOne reports whether a tensor has one element.
func isOne(t *Tensor) bool {
	return !slices.ContainsFunc(domain.Shape(t.Axes), func(n int64) bool { return n != 1 })
}

// scaleFits checks that operand at is an fp8 tensor, and that the next operand has a scale for each of its rows, or one scale.
func (e *expansion) scaleFits(at int) bool {
	q, s := e.op.In[at], e.op.In[at+1]
	shape, one := domain.Shape(q.Axes), func(n int64) bool { return n == 1 }
	rows := shape[:len(shape)-1]
	switch {
	case !q.DType.Saturates():
		e.a.list.Add(e.src.args[at].pos, diag.DTypeMismatch, "scaled_linear multiplies numbers of 8 bits, and %s is %s", q.Name, q.DType).
			WithHint("quantize it, or multiply with linear")
	case s.DType != domain.FP32:
		e.a.list.Add(e.src.args[at+1].pos, diag.DTypeMismatch, "scales are fp32, and %s is %s", s.Name, s.DType)
	case !isOne(s) && !slices.Equal(domain.Shape(s.Axes), rows):
		d := e.a.list.Add(e.src.args[at+1].pos, diag.ShapeMismatch, "%s has no scale for each row of %s: their shapes are %s and %s", s.Name,
			q.Name, domain.FormatShape(domain.Shape(s.Axes)), domain.FormatShape(shape))
		if slices.Equal(slices.DeleteFunc(domain.Shape(s.Axes), one), lists.Except(rows, one)) { // as in torch._scaled_mm
			d.WithHint("write reshape(%s, shape=%s)", s.Name, domain.FormatShape(rows))
			return false
		}
		d.WithHint("scales of blocks are for both operands: for each %d elements of a row of the first, and for %d x %d of the second",
			domain.BlockRow, domain.BlockRow, domain.BlockRow)
	default:
		return true
	}
	return false
}
