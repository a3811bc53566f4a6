package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// scatterAdd(Ids, X) adds up the rows of X that have the same id. With the attribute blocks, the first axis of the result counts blocks
// of rows. With batches, ids and rows of each batch are separate.
func scatterAdd(e *expansion) {
	ids, x := e.axesOf(0), e.axesOf(1)
	axes, fits := e.rowsOfResult()
	if !fits || !e.numbersRows(0) || !e.op.In[1].DType.IsInteger() && !e.computes(1) || !e.hasRows(ids, x) {
		e.broken()
		return
	}
	batches, ok := e.batches(0, 1)
	if ok && batches > 0 && len(axes) > 1 {
		e.fail(diag.BadAttribute, "scatter_add has blocks of rows or batches, not both")
		ok = false
	}
	if !ok {
		e.broken()
		return
	}
	values, out, dtype := e.src.args[1].value, e.src.out.value, e.op.In[1].DType
	if dtype.IsInteger() { // added up in fp32
		values, out = e.arg(1), e.fresh(out+"_fp32")
	}
	if is := e.isRow(axes, batches); len(x) == len(ids) {
		e.addElements(out, is, values, batches)
	} else {
		e.addRows(out, is, values, axes, batches)
	}
	if dtype.IsInteger() {
		e.add(e.src.out.value, "cast", []string{out}, []string{"dtype", string(dtype)})
	}
}

// isRow returns a matrix in fp32 for each batch. It has a one where the number of a result's row equals an id, and zeros elsewhere.
// Its axes are the batches, the axes of the result's rows, and an axis of all ids.
func (e *expansion) isRow(axes []domain.Axis, batches int) string {
	operand := e.src.args[0].value
	number := e.step("number", "positions", []string{operand}, "size", axes[len(axes)-1].Extent.String())
	if len(axes) > 1 {
		block := e.step("block", "positions", []string{operand}, "size", axes[0].Extent.String())
		first := e.step("first", "scale", []string{block}, "by", strconv.FormatInt(axes[1].Size, 10))
		number = e.step("number", "add", []string{e.step("first_b", "broadcast", []string{first}, "axis", "1"), number})
	}
	number = e.step("number_b", "broadcast", []string{number}, "axis", strconv.Itoa(len(axes)))
	return e.step("is", "eq", []string{number, e.inRow("numbers", e.arg(0), e.axesOf(0), batches)})
}

// inRow merges all axes of a tensor after its batches. It puts an axis of one element before the merged axis, so that a kernel's
// operands have an axis for the rows of the result.
func (e *expansion) inRow(suffix, in string, axes []domain.Axis, batches int) string {
	one := domain.Axis{Extent: domain.Extent{Size: 1}}
	return e.shaped(suffix, in, axes, slices.Concat(axes[:batches], []domain.Axis{one, {Extent: domain.Merge(axes[batches:])}})...)
}

// addElements adds up elements that have the same id, as for the inverse of a permutation. For each row of the matrix, a kernel keeps
// the elements where the row has ones, and adds them up. So the matrix is not stored.
func (e *expansion) addElements(out, is, values string, batches int) {
	kept := e.step("kept", "keep", []string{e.inRow("values", values, e.axesOf(1), batches), is})
	e.add(out, "sum", []string{kept}, []string{"axis", "-1"})
}

// addRows multiplies the matrix by the rows of X, a GEMM for each batch. So each rank multiplies its own rows of X, and ranks add the
// results.
func (e *expansion) addRows(out, is, values string, axes []domain.Axis, batches int) {
	x, ids := e.axesOf(1), len(e.axesOf(0))
	if dtype := e.op.In[1].DType; dtype != domain.FP32 && !dtype.IsInteger() {
		is = e.step("is_"+string(dtype), "cast", []string{is}, "dtype", string(dtype))
	}
	rest, rows := x[ids:], domain.Axis{Extent: domain.Merge(x[batches:ids])}
	values = e.shaped("values", values, x, slices.Concat(x[:batches], []domain.Axis{rows, {Extent: domain.Merge(rest)}})...)
	if len(rest) == 1 {
		e.add(out, "matmul", []string{is, values}, nil)
		return
	}
	e.reshape(out, e.step("rows", "matmul", []string{is, values}), slices.Concat(x[:batches], axes, rest))
}

// rowsOfResult reads the attributes blocks, if given, and rows, and returns them as axes in this order.
func (e *expansion) rowsOfResult() (axes []domain.Axis, ok bool) {
	count := int64(1)
	for _, name := range []string{"blocks", "rows"} {
		attr := e.src.attr(name)
		if attr == nil && name == "blocks" {
			continue
		}
		if attr == nil || attr.list {
			e.fail(diag.BadAttribute, "scatter_add needs the number of rows of its result").
				WithHint("write scatter_add(%s, %s, rows=N)", e.op.In[0].Name, e.op.In[1].Name)
			return nil, false
		}
		extent, ok := e.a.extent(attr.values[0])
		if !ok {
			return nil, false
		}
		if extent.Size > mostPositions/count {
			e.fail(diag.BadAttribute, "the result has more than %d rows, which a scatter_add counts", mostPositions)
			return nil, false
		}
		count *= extent.Size
		axes = append(axes, domain.Axis{Extent: extent})
	}
	return axes, true
}

// hasRows checks that x begins with the axes of the ids.
func (e *expansion) hasRows(ids, x []domain.Axis) bool {
	if n := len(ids); n <= len(x) && slices.Equal(domain.Shape(ids), domain.Shape(x[:n])) {
		return true
	}
	e.a.list.Add(e.src.args[1].pos, diag.ShapeMismatch, "%s has no row for each number in %s: their shapes are %s and %s", e.op.In[1].Name,
		e.op.In[0].Name, domain.FormatShape(domain.Shape(x)), domain.FormatShape(domain.Shape(ids)))
	return false
}

// shaped returns the name of a tensor with the axes to. It adds a reshape if the shapes differ.
func (e *expansion) shaped(suffix, in string, from []domain.Axis, to ...domain.Axis) string {
	if slices.Equal(domain.Shape(from), domain.Shape(to)) {
		return in
	}
	out := e.fresh(e.src.out.value + "_" + suffix)
	e.reshape(out, in, to)
	return out
}
