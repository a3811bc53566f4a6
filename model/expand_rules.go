package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// fold reduces the axis e.axis and replaces it by an axis of one element, which stretches.
func (e *expansion) fold(suffix, fn, arg string) string {
	axis := strconv.Itoa(e.axis)
	folded := e.step(suffix, fn, []string{arg}, "axis", axis)
	if len(e.axesOf(0)) == 1 { // the only axis keeps one element
		return folded
	}
	return e.step(suffix+"_b", "broadcast", []string{folded}, "axis", axis)
}

// mean computes the sum along the axis e.axis divided by the number of elements. The axis keeps one element.
func (e *expansion) mean(suffix, arg string) string {
	count := e.axesOf(0)[e.axis].Size
	return e.step(suffix+"_mean", "scale", []string{e.fold(suffix+"_sum", "sum", arg)}, "by", formatFloat(1/float64(count)))
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 32) }

// meanOf(X) is the mean of X along an axis, which the result does not have, unless it is the only one: see toOneElement.
func meanOf(e *expansion) {
	sum := e.step("sum", "sum", []string{e.arg(0)}, "axis", strconv.Itoa(e.axis))
	e.resultBy("scale", []string{sum}, "by", formatFloat(1/float64(e.axesOf(0)[e.axis].Size)))
}

// argmax(X) is the first index at which X has its maximum along an axis, which the result does not have, unless it is
// the only one. If the maximum is NaN, which equals no element, the result is the largest int32.
func argmax(e *expansion) {
	x := e.arg(0)
	hits := e.hits(x, e.fold("max", "max", x), e.before(x))
	index := e.step("index", "neg", []string{e.step("first", "max", []string{hits}, "axis", strconv.Itoa(e.axis))})
	e.add(e.src.out.value, "cast", []string{index}, []string{"dtype", string(domain.Int32)})
}

// before computes the index of each element along the axis, times -1, so that a maximum finds the first of several elements.
func (e *expansion) before(x string) string {
	at := e.step("at", "positions", []string{x}, "axis", strconv.Itoa(e.axis))
	for i := range len(e.axesOf(0)) - 1 - e.axis {
		at = e.step("at_b", "broadcast", []string{at}, "axis", strconv.Itoa(i+1))
	}
	return e.step("before", "neg", []string{at})
}

// hits computes a tensor with the values of the tensor "before" where x equals largest, and -infinity elsewhere.
func (e *expansion) hits(x, largest, before string) string {
	return e.step("hits", "masked", []string{before, e.step("hit", "eq", []string{x, largest})})
}

// shifted computes X - max X and its exponential.
func (e *expansion) shifted(x string) (shifted, exp string) {
	shifted = e.step("shifted", "sub", []string{x, e.fold("max", "max", x)})
	return shifted, e.step("exp", "exp", []string{shifted})
}

// softmax(X) = exp(X - max X) / sum of exp(X - max X), along an axis. With causal=true, elements after the column at a
// row's own position are masked. The last row has the position of the last column.
func softmax(e *expansion) {
	if attr := e.src.attr("split"); attr != nil && !e.causal {
		e.a.list.Add(attr.name.pos, diag.BadAttribute,
			"split says how the rows of a causal softmax are counted").WithHint("write causal=true, too")
		e.broken()
		return
	}
	if e.causal && !e.isSquare() {
		e.broken()
		return
	}
	x := e.arg(0)
	if e.causal {
		x = e.step("causal", "masked", []string{x, e.causalMask(x)})
	}
	_, exp := e.shifted(x)
	e.result("div", exp, e.fold("sum", "sum", exp))
}

// logSoftmax(X) = X - max X - log of the sum of exp(X - max X), along an axis.
func logSoftmax(e *expansion) {
	shifted, exp := e.shifted(e.arg(0))
	e.result("sub", shifted, e.step("log", "log", []string{e.fold("sum", "sum", exp)}))
}

// softmaxGrad(dY, Y) = Y (dY - sum of dY Y), with Y the result of the softmax.
func softmaxGrad(e *expansion) {
	dy, y := e.arg(0), e.arg(1)
	weighted := e.step("weighted", "mul", []string{dy, y})
	e.result("mul", y, e.step("centered", "sub", []string{dy, e.fold("sum", "sum", weighted)}))
}

// normalized computes (X - mean X) / sqrt(variance of X + eps) as two factors: X - mean X, and the reciprocal of the
// divisor.
func (e *expansion) normalized(x string) (centered, rstd string) {
	centered = e.step("centered", "sub", []string{x, e.mean("x", x)})
	variance := e.mean("square", e.step("square", "mul", []string{centered, centered}))
	return centered, e.step("rstd", "rsqrt", []string{e.step("var", "shift", []string{variance}, "by", e.eps)})
}

// normalize(X) = (X - mean X) / sqrt(variance of X + eps), along an axis.
func normalize(e *expansion) {
	centered, rstd := e.normalized(e.arg(0))
	e.result("mul", centered, rstd)
}

// normalizeGrad(dY, X) = r (dY - mean dY - Y (mean of dY Y)), with Y = normalize(X) and r = 1 / sqrt(variance of X + eps).
func normalizeGrad(e *expansion) {
	dy := e.arg(0)
	centered, rstd := e.normalized(e.arg(1))
	y := e.step("y", "mul", []string{centered, rstd})
	along := e.mean("along", e.step("weighted", "mul", []string{dy, y}))
	away := e.step("away", "sub", []string{dy, e.mean("dy", dy)})
	e.result("mul", rstd, e.step("tangent", "sub", []string{away, e.step("radial", "mul", []string{y, along})}))
}

// layerNorm(X, gamma, beta) = normalize(X) gamma + beta, along the last axis.
func layerNorm(e *expansion) {
	centered, rstd := e.normalized(e.arg(0))
	y := e.step("y", "mul", []string{centered, rstd})
	e.result("add", e.step("scaled", "mul", []string{y, e.arg(1)}), e.arg(2))
}

// perRoot computes 1 / sqrt(mean of X squared + eps).
func (e *expansion) perRoot(x string) string {
	square := e.mean("square", e.step("square", "mul", []string{x, x}))
	return e.step("rstd", "rsqrt", []string{e.step("shifted", "shift", []string{square}, "by", e.eps)})
}

// rmsNorm(X, gamma) = gamma X / sqrt(mean of X squared + eps), along the last axis. gamma may be omitted.
func rmsNorm(e *expansion) {
	x := e.arg(0)
	rstd := e.perRoot(x)
	if len(e.op.In) == 1 {
		e.result("mul", x, rstd)
		return
	}
	e.result("mul", e.step("y", "mul", []string{x, rstd}), e.arg(1))
}

// where(mask, A, B) = A where the mask is not 0, and B elsewhere. It adds A and B after replacing the elements that
// are not chosen by 0. The mask may have another element type.
func where(e *expansion) {
	mask, a, b := e.src.args[0].value, e.src.args[1].value, e.src.args[2].value
	dtype := e.op.In[1].DType
	if other := e.op.In[2]; other.DType != dtype {
		e.a.list.Add(e.src.args[2].pos, diag.DTypeMismatch, "%s is %s, but %s is %s", b, other.DType, a, dtype).
			WithHint("convert one of them with cast")
		e.broken()
		return
	}
	if dtype.IsInteger() {
		e.inFP32(dtype, e.arg(0), e.arg(1), e.arg(2))
		return
	}
	if e.op.In[0].DType != dtype {
		mask = e.mask(0, dtype)
	}
	kept, dropped := e.step("kept", "keep", []string{a, mask}), e.step("dropped", "drop", []string{b, mask})
	e.add(e.src.out.value, "add", []string{kept, dropped}, nil)
}

// clamp(X, min=, max=) is clamp_min, then clamp_max, or one of them.
func clamp(e *expansion) {
	least, most := e.src.attr("min"), e.src.attr("max")
	if least == nil && most == nil {
		e.fail(diag.BadAttribute, "clamp needs a smallest or a largest number").WithHint("write clamp(%s, min=0, max=1)", e.op.In[0].Name)
		e.broken()
		return
	}
	x, out := e.src.args[0].value, e.src.out.value
	limit := func(out, fn, x string, by *sourceAttr) {
		by = &sourceAttr{name: text{value: "by", pos: by.name.pos}, values: by.values, list: by.list}
		e.add(out, fn, []string{x}, nil, *by)
	}
	switch {
	case most == nil:
		limit(out, "clamp_min", x, least)
	case least == nil:
		limit(out, "clamp_max", x, most)
	default:
		lower := e.fresh(out + "_lower")
		limit(lower, "clamp_min", x, least)
		limit(out, "clamp_max", lower, most)
	}
}

// castsMask reports whether an operation is a keep, drop or masked whose mask has another element type than the first
// operand, which has a type that operations compute in.
func (a *assembler) castsMask(so *sourceOp) bool {
	if !takesMask(so.fn.value) || len(so.args) != 2 {
		return false
	}
	of, mask := a.tensors[so.args[0].value], a.tensors[so.args[1].value]
	return of != nil && mask != nil && of.DType != mask.DType && of.DType.Computes()
}

// masked adds an operation with its mask converted to the element type of the other operand.
func masked(e *expansion) {
	mask := e.mask(1, e.op.In[0].DType)
	e.add(e.src.out.value, e.src.fn.value, []string{e.src.args[0].value, mask}, nil)
}

// mask adds operations that convert operand i to a mask of an element type. It takes the sign of numbers that may be too small for
// the type, which a cast alone would round to 0.
func (e *expansion) mask(i int, dtype domain.DType) string {
	mask := e.src.args[i].value
	if small := 0x1p-126; e.op.In[i].DType.Round(small) != 0 && dtype.Round(small) == 0 {
		mask = e.step("sign", "sign", []string{mask})
	}
	return e.step("mask", "cast", []string{mask}, "dtype", string(dtype))
}

// leavesOneElement reports whether an operation reduces the only axis of a tensor.
func (a *assembler) leavesOneElement(so *sourceOp) bool {
	if !slices.Contains(ReduceFns, so.fn.value) || len(so.args) != 1 {
		return false
	}
	of := a.tensors[so.args[0].value]
	return of != nil && len(domain.Shape(of.Axes)) == 1
}

// toOneElement expands a reduction of the only axis of a tensor. It adds an axis of one element first, which the result
// keeps.
func toOneElement(e *expansion) {
	column := e.step("column", "broadcast", []string{e.src.args[0].value}, "axis", "1")
	e.add(e.src.out.value, e.src.fn.value, []string{column}, []string{"axis", "0"})
}

// isSquare checks that a causal softmax runs along the last of at least two axes, with no more rows than columns. It also
// decides how the rows are counted: see countsRows.
func (e *expansion) isSquare() bool {
	axes := e.axesOf(0)
	n := len(axes)
	if n < 2 || e.axis != n-1 || axes[n-2].Size > axes[n-1].Size {
		e.a.list.Add(e.src.attr("causal").name.pos, diag.BadAttribute,
			"a causal softmax runs along the last axis of [..., queries, keys], with no more queries than keys")
		return false
	}
	return e.countsRows(n-2, axes[n-1].Size)
}

// causalMask adds operations for a mask that is 1 where i + columns - rows >= j for row i and column j, and 0 elsewhere. The
// last row sees all columns. Rows count over all blocks.
func (e *expansion) causalMask(x string) string {
	axes := e.axesOf(0)
	rows, own := e.rowsAlong("rows", x, len(axes)-2)
	behind := axes[len(axes)-1].Size - axes[len(axes)-2].Size
	if e.blocks {
		behind -= axes[len(axes)-2].Size * (axes[len(axes)-3].Size - 1)
	}
	if behind > 0 {
		rows = e.step("last", "shift", []string{rows}, "by", formatFloat(float64(behind)))
	}
	rows = e.step("rows_b", "broadcast", []string{rows}, "axis", strconv.Itoa(own))
	return e.step("mask", "ge", []string{rows, e.step("columns", "positions", []string{x}, "axis", "-1")})
}
