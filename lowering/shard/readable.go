package shard

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// readably copies operands of the last statement of a list if the statement cannot read their layout. A matmul
// reads matrices by rows or by columns, a reshape and a broadcast read logical order, and an attention needs the
// last axis innermost. A pipeline stores a Temp slice after slice. A statement whose result has no Stream axis
// can read such a Temp without a copy if the result stores the rows in the same order.
func (c *contiguity) readably(list []hostir.Stmt) []hostir.Stmt {
	s := list[len(list)-1]
	if r, ok := s.(*hostir.Reshape); ok {
		return c.inRows(list, r)
	}
	for k := range hostir.Uses(s) {
		t := hostir.Uses(s)[k]
		inSlices := t.Role == hostir.Temp && hostir.StreamAxis(hostir.Result(s)) < 0 && !rowsInOrderOfResult(s, k)
		if (t.Role == hostir.View || inSlices) && !readable(s, k) {
			list = append(list[:len(list)-1], c.before(s, k, logicalOrder(t))...)
		}
	}
	return list
}

// inRows copies the operand of the reshape that ends a list if the operand is not row-major. In a
// pipeline, each slice must be row-major, otherwise the whole tensor. A
// row-major temporary result without a Stream axis becomes a view of the copy.
func (c *contiguity) inRows(list []hostir.Stmt, r *hostir.Reshape) []hostir.Stmt {
	along := SlicedAlong(r)
	rows := inFront(logicalOrder(r.In), func(a int) int {
		if a == along {
			return 0
		}
		return 1
	})
	if inOrder(r.In, rows) {
		return list
	}
	list = append(list[:len(list)-1], c.before(r, 0, rows)...)
	if r.Out.Role == hostir.Temp && hostir.StreamAxis(r.Out) < 0 && slices.IsSorted(hostir.Layout(r.Out)) {
		r.Out.Role = hostir.View
	}
	return list
}

// SlicedAlong returns the axis of its operand along which a reshape runs as a pipeline. It is NoAxis if
// the result has no Stream axis, if the reshape makes the Stream axis from other axes, or if the slices
// of a view would have gaps. The reshape then runs as a whole, and only the statements after it run
// along the axis.
func SlicedAlong(r *hostir.Reshape) int {
	loop := hostir.StreamAxis(r.Out)
	if loop < 0 || r.Out.Role == hostir.View && hostir.Outside(r.Out, loop) >= 0 {
		return NoAxis
	}
	return slices.Index(hostir.AxisMap(r)[0], loop)
}

// readable reports whether statement s can read operand k in its layout.
func readable(s hostir.Stmt, k int) bool {
	t := hostir.Uses(s)[k]
	live := hostir.Live(t)
	var batches int
	switch s := s.(type) {
	case *hostir.Broadcast:
		return inOrder(t, live)
	case *hostir.Attention:
		if t == s.Logs() {
			return inOrder(t, live)
		}
		return !hasInside(t, live[len(live)-1])
	case *hostir.Matmul:
		batches = leading(s.B, live)
	case *hostir.Linear:
		batches = leading(s.W, live)
	default:
		return true
	}
	if k > 1 || len(live) < 2 {
		return inOrder(t, live)
	}
	columns := slices.Clone(live[:batches])
	columns = append(columns, live[len(live)-1])
	columns = append(columns, live[batches:len(live)-1]...)
	return inOrder(t, live) || inOrder(t, columns)
}

// rowsInOrderOfResult reports whether the row axes of operand k have the same order in memory as in the result
// of s, and the last axis of the operand is the innermost.
func rowsInOrderOfResult(s hostir.Stmt, k int) bool {
	t, row, out := hostir.Uses(s)[k], hostir.AxisMap(s)[k], hostir.Result(s)
	if hostir.Is[*hostir.Attention](s) {
		return false // its axis map may lack heads, and lacks rows
	}
	var rows []int
	for _, a := range hostir.Layout(out) {
		if i := slices.Index(row, a); i >= 0 && t.Axes[i].LocalSize() > 1 {
			rows = append(rows, i)
		}
	}
	lie := lists.Except(hostir.Layout(t), func(i int) bool { return !slices.Contains(rows, i) })
	live := hostir.Live(t)
	return slices.Equal(lie, rows) && (len(live) == 0 || !hasInside(t, live[len(live)-1]))
}

// hasInside reports whether an axis has several local elements, and another axis with several is inside of it in t's
// buffer.
func hasInside(t *hostir.Tensor, axis int) bool {
	order := hostir.Layout(t)
	return t.Axes[axis].LocalSize() > 1 && slices.ContainsFunc(order[slices.Index(order, axis)+1:], func(a int) bool {
		return t.Axes[a].LocalSize() > 1
	})
}

// leading returns the number of batch axes of an operand with the axes live. It is 0 if the second
// operand is a matrix, because then all leading axes are rows.
func leading(second *hostir.Tensor, live []int) int {
	if len(hostir.Live(second)) < 3 {
		return 0
	}
	return max(len(live)-2, 0)
}

// inOrder reports whether the layout of t has the order of axes. Axes of one element may be
// anywhere.
func inOrder(t *hostir.Tensor, axes []int) bool {
	long := func(order []int) []int {
		return lists.Except(order, func(a int) bool { return t.Axes[a].LocalSize() < 2 })
	}
	return slices.Equal(long(hostir.Layout(t)), long(axes))
}

// logicalOrder returns the layout 0, 1, 2, ... of all axes of t.
func logicalOrder(t *hostir.Tensor) []int { return lists.Numbers(len(t.Axes)) }
