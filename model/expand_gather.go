package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// gather(Table, Ids) is gather_at. With split=rows the first axis of Table counts blocks of rows. The operation
// positions computes the number of the first row of each block, so that kernels do not depend on the rank. gather_at
// returns zeros for ids of rows in other blocks, so the sum over blocks has each row.
func gather(e *expansion) {
	attr, operands := e.src.attr("split"), lists.Map(e.src.args, func(t text) string { return t.value })
	switch {
	case attr == nil:
		e.add(e.src.out.value, "gather_at", operands, nil, e.src.attrs...)
		return
	case attr.list || attr.values[0].value != domain.SplitRows:
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "split is %s", domain.SplitRows)
	case len(e.src.attrs) > 1:
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "with split=rows the rows are along the second axis, and there are no batches").
			WithHint("permute %s", e.op.In[0].Name)
	case len(e.axesOf(0)) < 2:
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "%s has one axis; with split=rows its first axis counts blocks of rows", e.op.In[0].Name)
	default:
		block := e.step("block", "positions", operands[:1], "axis", "0")
		first := e.step("first", "scale", []string{block}, "by", strconv.FormatInt(e.axesOf(0)[1].Size, 10))
		parts := e.step("parts", "gather_at", append(operands, first), "axis", "1")
		e.add(e.src.out.value, "sum", []string{parts}, []string{"axis", "0"})
		return
	}
	e.broken()
}

// inferGather gives the result the axes of the table, with the axis of rows replaced by the axes of the ids after the
// batch axes. The third operand, if there is one, has the number of the first row of each block, and the first axes of
// the table.
func inferGather(in *inference) bool {
	table, ids, name := in.axesOf(0), in.axesOf(1), in.op.In[0].Name
	at, batches, ok := in.rowsOf(table)
	if !ok || !in.numbersRows(1) {
		return false
	}
	rows := table[at].Size
	if len(in.op.In) > 2 {
		first := in.axesOf(2)
		n := len(first)
		if n > at || !slices.Equal(domain.Shape(table[:n]), domain.Shape(first)) || in.op.In[2].DType != domain.FP32 {
			in.fail(diag.ShapeMismatch, "%s is not fp32 with the axes before the rows of %s", in.op.In[2].Name, name)
			return false
		}
		for _, axis := range first {
			rows *= axis.Size
		}
	}
	if rows > mostPositions {
		in.a.list.Add(in.src.args[0].pos, diag.ShapeMismatch, "%s has %d rows; a gather takes at most %d", name, rows, mostPositions)
		return false
	}
	for i := range batches {
		table[i] = joinKinds(table[i], ids[i])
	}
	in.op.Axis, in.op.Batches = at, batches
	in.axes = slices.Concat(table[:at], ids[batches:], table[at+1:])
	return true
}

// rowsOf reads the attributes batches and axis. The default of axis is the first axis after the batches and blocks.
func (in *inference) rowsOf(table []domain.Axis) (at, batches int, ok bool) {
	if batches, ok = in.batches(0, 1); !ok {
		return 0, 0, false
	}
	at = batches
	if len(in.op.In) > 2 {
		at = max(at, len(in.axesOf(2)))
	}
	if in.src.attr("axis") != nil {
		at, ok = in.axisAttr(len(table))
	}
	if ok && (at < batches || at >= len(table)) {
		in.fail(diag.BadAttribute, "%s has no axis of rows after its batches", in.op.In[0].Name)
		return 0, 0, false
	}
	return at, batches, ok
}

// batches reads the attribute batches, which is 0 by default: how many leading axes operands a and b have in common.
func (in *inference) batches(a, b int) (n int, ok bool) {
	if in.src.attr("batches") == nil {
		return 0, true
	}
	v, ok := in.wholeNumber("batches", 1)
	x, y := domain.Shape(in.axesOf(a)), domain.Shape(in.axesOf(b))
	if ok && (v > int64(min(len(x), len(y))) || !slices.Equal(x[:v], y[:v])) {
		in.fail(diag.ShapeMismatch, "with batches=%d, %s and %s begin with the same axes; their shapes are %s and %s", v, in.op.In[a].Name,
			in.op.In[b].Name, domain.FormatShape(x), domain.FormatShape(y))
		return 0, false
	}
	return int(v), ok
}

// numbersRows checks that an operand with row numbers has an integer type.
func (in *inference) numbersRows(operand int) bool {
	t := in.op.In[operand]
	if t.DType.IsInteger() {
		return true
	}
	d := in.a.list.Add(in.src.args[operand].pos, diag.DTypeMismatch, "the numbers of rows are integers, and %s is %s", t.Name, t.DType)
	if t.Producer != nil {
		d.WithHint("convert it with cast(%s, dtype=%s)", t.Name, domain.Int32)
	} else {
		d.WithHint("declare %s: {axes: ..., dtype: %s}", t.Name, domain.Int32)
	}
	return false
}

// scatterAdd(Ids, X) adds up the rows of X that have the same id. It is a GEMM of X with a matrix that has a one where
// the number of a result's row equals an id, and zeros elsewhere. So each rank multiplies its own rows of X, and ranks
// add the results. With the attribute blocks, the first axis of the result counts blocks of rows. With batches, there
// is a GEMM for each batch.
func scatterAdd(e *expansion) {
	ids, x := e.axesOf(0), e.axesOf(1)
	axes, fits := e.rowsOfResult()
	if !fits || !e.numbersRows(0) || !e.computes(1) || !e.hasRows(ids, x) {
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
	rest, operand := x[len(ids):], e.src.args[0].value
	number := e.step("number", "positions", []string{operand}, "size", axes[len(axes)-1].Extent.String())
	if len(axes) > 1 {
		block := e.step("block", "positions", []string{operand}, "size", axes[0].Extent.String())
		first := e.step("first", "scale", []string{block}, "by", strconv.FormatInt(axes[1].Size, 10))
		number = e.step("number", "add", []string{e.step("first_b", "broadcast", []string{first}, "axis", "1"), number})
	}
	number = e.step("number_b", "broadcast", []string{number}, "axis", strconv.Itoa(len(axes)))
	rows, columns := domain.Axis{Extent: domain.Merge(ids[batches:])}, domain.Axis{Extent: domain.Merge(rest)}
	numbers := []domain.Axis{rows}
	if batches > 0 { // one row of numbers for each batch
		numbers = slices.Concat(ids[:batches], []domain.Axis{{Extent: domain.Extent{Size: 1}}}, numbers)
	}
	is := e.step("is", "eq", []string{number, e.shaped("numbers", e.arg(0), ids, numbers...)})
	if dtype := e.op.In[1].DType; dtype != domain.FP32 {
		is = e.step("is_"+string(dtype), "cast", []string{is}, "dtype", string(dtype))
	}
	operands := []string{is, e.shaped("values", e.src.args[1].value, x, slices.Concat(x[:batches], []domain.Axis{rows, columns})...)}
	if len(rest) == 1 {
		e.add(e.src.out.value, "matmul", operands, nil)
		return
	}
	e.reshape(e.src.out.value, e.step("rows", "matmul", operands), slices.Concat(x[:batches], axes, rest))
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
