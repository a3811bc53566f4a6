package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// ReorderShardedAxis makes gathered and scattered axes outermost, by a local copy if they are not. A gathered axis becomes
// outermost in the buffer that the ranks fill, with a copy after the movement. A scattered axis becomes outermost in the
// buffer that they send from, with a copy before the movement. Axes that a pipeline slices stay outside of such an axis.
//
// Requires: a movement is one step, or local.
// Establishes: gathered and scattered axes are outermost, if the statement moves data between ranks.
//
//	before: B = Set(A)                    A [M, DIDx(D)], B [M, D]
//	after:  B_moved = Set(A); B = Set(B_moved)      B_moved [M, D], layout [1, 0]
func ReorderShardedAxis(p *hostir.Program) error {
	c := &copier{program: p, names: hostir.NewNamer(p)}
	p.Body = hostir.Rewrite(p.Body, func(s hostir.Stmt) []hostir.Stmt {
		if !Moves(p, s) {
			return []hostir.Stmt{s}
		}
		m := Describe(s)
		list := []hostir.Stmt{s}
		if i := m.Scattered(); i >= 0 && !isOutermost(m.In, i, m.streams) {
			list = c.before(s, 0, packed(m, i))
		}
		out := m.Out
		if j := m.Gathered(); j >= 0 && !isOutermost(out, j, streamed(out)) {
			list = c.after(list, s, outermost(out, j))
		}
		return list
	})
	return nil
}

// streamed returns a function that reports whether an axis of t is a Stream axis.
func streamed(t *hostir.Tensor) func(int) bool {
	return func(i int) bool { return t.Axes[i].Kind == domain.Stream }
}

// isOutermost reports whether all axes outside of the given axis are sliced or have one local element.
func isOutermost(t *hostir.Tensor, axis int, sliced func(int) bool) bool {
	for _, a := range hostir.Layout(t) {
		if a == axis {
			return true
		}
		if !sliced(a) && t.Axes[a].LocalSize() > 1 {
			return false
		}
	}
	return false
}

// outermost returns t's layout with its Stream axes first, axis next, then the others.
func outermost(t *hostir.Tensor, axis int) []int {
	return inFront(hostir.Layout(t), func(a int) int {
		switch {
		case t.Axes[a].Kind == domain.Stream:
			return 0
		case a == axis:
			return 1
		default:
			return 2
		}
	})
}

// packed returns the layout in which a movement scatters its operand: sliced axes first, and the scattered axis next. The
// other axes follow in the order of the result. Axes that the result lacks are last.
func packed(m Movement, scattered int) []int {
	order := make([]int, 0, len(m.Row))
	for _, j := range hostir.Layout(m.Out) {
		if i := slices.Index(m.Row, j); i >= 0 {
			order = append(order, i)
		}
	}
	for i, j := range m.Row {
		if j == hostir.Unmapped {
			order = append(order, i)
		}
	}
	return inFront(order, func(i int) int {
		switch {
		case m.streams(i):
			return 0
		case i == scattered:
			return 1
		default:
			return 2
		}
	})
}

// inFront returns the axes of order sorted by the number that place returns. Axes with equal numbers keep their order.
func inFront(order []int, place func(int) int) []int {
	order = slices.Clone(order)
	slices.SortStableFunc(order, func(a, b int) int { return place(a) - place(b) })
	return order
}
