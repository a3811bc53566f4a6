package model

import (
	"fmt"
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
	switch {
	case operand == 1 && idsFirst(in.op.In):
		d.WithHint("%s", tableFirst(in.op.In))
	case t.Producer != nil:
		d.WithHint("convert it with cast(%s, dtype=%s)", t.Name, domain.Int32)
	default:
		d.WithHint("declare %s: {axes: ..., dtype: %s}", t.Name, domain.Int32)
	}
	return false
}

// idsFirst reports whether the operands of a gather are in the order of PyTorch's embedding: integers before a table of
// other numbers.
func idsFirst(operands []*Tensor) bool {
	return len(operands) > 1 && operands[0] != nil && operands[1] != nil && operands[0].DType.IsInteger() && !operands[1].DType.IsInteger()
}

// tableFirst is the hint for the order that idsFirst finds.
func tableFirst(operands []*Tensor) string {
	return fmt.Sprintf("the table comes first: gather(%s, %s)", operands[1].Name, operands[0].Name)
}
