package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// gather(Table, Ids) is gather_at. With split=rows the first axis of Table counts blocks of rows. positions computes the number of
// the first row of each block, so that kernels do not depend on the rank. gather_at returns zeros for rows of other blocks, so the
// sum over blocks has each row.
func gather(e *expansion) {
	attr, operands := e.src.attr("split"), lists.Map(e.src.args, func(t text) string { return t.value })
	switch {
	case attr == nil:
		e.add(e.src.out.value, "gather_at", operands, nil)
		return
	case attr.list || attr.values[0].value != domain.SplitRows:
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "split is %s", domain.SplitRows)
	case len(e.axesOf(0)) < 2:
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "%s has one axis; with split=rows its first axis counts blocks of rows", e.op.In[0].Name)
	default:
		block := e.step("block", "positions", operands[:1], "axis", "0")
		first := e.step("first", "scale", []string{block}, "by", strconv.FormatInt(e.axesOf(0)[1].Size, 10))
		parts := e.step("parts", "gather_at", append(operands, first))
		e.add(e.src.out.value, "sum", []string{parts}, []string{"axis", "0"})
		return
	}
	e.broken()
}

// inferGather replaces the axis of the rows by the axes of the second operand. The third operand, if there is one, has the
// axes before the rows.
func inferGather(in *inference) bool {
	table, ids, name, rows := in.axesOf(0), in.axesOf(1), in.op.In[0].Name, int64(1)
	at, fits := 0, true
	if !in.numbersRows(1) {
		return false
	}
	if len(in.op.In) > 2 {
		first := in.axesOf(2)
		at = len(first)
		fits = at < len(table) && slices.Equal(domain.Shape(table[:at]), domain.Shape(first)) && in.op.In[2].DType == domain.FP32
	}
	if !fits {
		in.fail(diag.ShapeMismatch, "%s is not fp32 with the axes before the rows of %s", in.op.In[2].Name, name)
		return false
	}
	for _, axis := range table[:at+1] {
		rows *= axis.Size
	}
	if rows > mostPositions {
		in.a.list.Add(in.src.args[0].pos, diag.ShapeMismatch, "%s has %d rows; a gather takes at most %d", name, rows, mostPositions)
		return false
	}
	in.axes = slices.Concat(table[:at], ids, table[at+1:])
	return true
}

// numbersRows checks that an operand, which has the numbers of rows, has an integer type.
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

// scatterAdd(Ids, X) adds up the rows of X that have the same id. It is a GEMM of X with a matrix that has a one where the number
// of a result's row equals an id, and zeros elsewhere. So each rank multiplies its own rows of X, and ranks add the results. With
// the attribute blocks, the first axis of the result counts blocks of rows.
func scatterAdd(e *expansion) {
	ids, x := e.axesOf(0), e.axesOf(1)
	axes, fits := e.rowsOfResult()
	if !fits || !e.numbersRows(0) || !e.computes(1) || !e.hasRows(ids, x) {
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
	rows, columns := domain.Axis{Extent: domain.Merge(ids)}, domain.Axis{Extent: domain.Merge(rest)}
	is := e.step("is", "eq", []string{number, e.shaped("numbers", e.arg(0), ids, rows)})
	if dtype := e.op.In[1].DType; dtype != domain.FP32 {
		is = e.step("is_"+string(dtype), "cast", []string{is}, "dtype", string(dtype))
	}
	operands := []string{is, e.shaped("values", e.src.args[1].value, x, rows, columns)}
	if len(rest) == 1 {
		e.add(e.src.out.value, "matmul", operands, nil)
		return
	}
	e.reshape(e.src.out.value, e.step("rows", "matmul", operands), slices.Concat(axes, rest))
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
