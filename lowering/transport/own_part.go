package transport

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/lowering/shard"
)

// ownPart replaces a Set that selects a rank's local shard from a whole tensor by a view. If the result is an output or
// a view, or has another layout than the shard, ownPart keeps the Set, with the view as its operand.
func (c *converter) ownPart(s hostir.Stmt) []hostir.Stmt {
	m := shard.Describe(s)
	along, view := ranks.Along(m.In.Mesh, m.Shifts[0].Mesh), *m.Out
	view.Role, view.Layout, view.Axes = hostir.View, carried(m), slices.Clone(m.Out.Axes)
	view.Of = &hostir.Select{
		Info: hostir.InfoFrom(s, "this rank's part of a tensor that each rank has whole"), Out: &view, In: m.In, Axis: m.Scattered(),
		Index: along.Coordinate, Parts: along.Size,
	}
	if m.Out.Role == hostir.Temp && hasDenseStrides(&view, m.Out) {
		m.Out.Role, m.Out.Of = hostir.View, hostir.MadeAs(view.Of, m.Out) // m.Out keeps its layout, which the layouts of its views agree with
		return nil
	}
	view.Name = c.names.Fresh(m.In.Name + "_own")
	c.program.Tensors = append(c.program.Tensors, &view)
	return []hostir.Stmt{&hostir.Set{Info: *s.Meta(), Out: m.Out, In: &view}}
}

// hasDenseStrides reports whether a view has the strides that a contiguous buffer has.
func hasDenseStrides(view, buffer *hostir.Tensor) bool {
	w, err := hostir.WindowOf(view, func(expr.Expr) (int64, error) { return 0, nil }) // all parts have the same strides
	want := hostir.BufferWindow(buffer)
	for i, size := range want.Size {
		if err != nil || w.Whole || size > 1 && w.Stride[i] != want.Stride[i] {
			return false
		}
	}
	return true
}

// carried returns the layout of the operand of a transfer, in the axes of the result. Axes that the operand does not
// have, such as reduced ones, are outermost.
func carried(m shard.Movement) []int {
	var order []int
	for j := range m.Out.Axes {
		if !slices.Contains(m.Row, j) {
			order = append(order, j)
		}
	}
	return append(order, hostir.LayoutIn(m.In, m.Row)...)
}
