package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// ReorderShardedAxis makes the axis that a movement of data gathers the outermost of the
// buffer that the ranks fill, and the axis that it scatters the outermost of the buffer
// that they send from, by a local copy where it is not: after the movement, or before.
// Axes that a pipeline slices away stay outside of it.
//
// Requires: a movement is one step, or local.
// Establishes: gathered and scattered axes are outermost, where they move between ranks.
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

// streamed tells the Stream axes of t.
func streamed(t *hostir.Tensor) func(int) bool {
	return func(i int) bool { return t.Axes[i].Kind == domain.Stream }
}

// isOutermost reports whether nothing but sliced axes and axes of one element lies
// outside of axis.
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

// outermost is t's layout with its Stream axes first, axis next, then the others.
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

// packed is the layout in which a movement scatters its operand: sliced axes first, the
// scattered one next, then the others in the order of the result.
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

// inFront sorts axes by place and keeps the order of those of one place.
func inFront(order []int, place func(int) int) []int {
	order = slices.Clone(order)
	slices.SortStableFunc(order, func(a, b int) int { return place(a) - place(b) })
	return order
}
