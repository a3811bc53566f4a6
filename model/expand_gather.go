package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// gather(Table, Ids) is gather_at. With split=rows the first axis of Table counts blocks of rows. positions computes the number of
// the first row of each block, so that kernels do not depend on the rank. The sum over blocks takes each row from its block.
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

// inferGather replaces the axis of the rows by the axes of the second operand.
func inferGather(in *inference) bool {
	table, ids, name, rows := in.axesOf(0), in.axesOf(1), in.op.In[0].Name, int64(1)
	at, fits := 0, true
	if len(in.op.In) > 2 {
		first := in.axesOf(2)
		at = len(first)
		fits = at < len(table) && slices.Equal(domain.Shape(table[:at]), domain.Shape(first)) && in.op.In[2].DType == domain.FP32
	}
	switch {
	case !in.op.In[1].DType.IsInteger():
		in.a.list.Add(in.src.args[1].pos, diag.DTypeMismatch, "the numbers of rows are integers, and %s is %s", in.op.In[1].Name,
			in.op.In[1].DType).WithHint("declare %s: {axes: ..., dtype: int32}", in.op.In[1].Name)
		return false
	case !fits:
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
