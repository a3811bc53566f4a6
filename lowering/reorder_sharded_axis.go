package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// ReorderShardedAxis makes the axis that a Set gathers the outermost of a buffer of
// its own, where it is not outermost in the result, and copies from there. Axes that
// a pipeline slices away stay outside of it.
//
// Requires: a Set is local or nothing but data movement.
// Establishes: a gathered axis is outermost in the buffer that the ranks fill.
//
//	before: B = Set(A)                    A [M, DIDx(D)], B [M, D]
//	after:  B_moved = Set(A); B = Set(B_moved)      B_moved [M, D], layout [1, 0]
func ReorderShardedAxis(p *hostir.Program) error {
	names := newNamer(p)
	p.Body = hostir.Rewrite(p.Body, func(s hostir.Stmt) []hostir.Stmt {
		set, ok := s.(*hostir.Set)
		if !ok || !reshards(s) {
			return []hostir.Stmt{s}
		}
		axis := gathered(set)
		if axis < 0 || isOutermost(set.Out, axis) {
			return []hostir.Stmt{s}
		}
		moved := &hostir.Tensor{
			Name: names.fresh(set.Out.Name + "_moved"), DType: set.Out.DType, Axes: slices.Clone(set.Out.Axes),
			Mesh: set.Out.Mesh, Role: hostir.Temp, Layout: outermost(set.Out, axis), Pos: set.Out.Pos,
		}
		p.Tensors = append(p.Tensors, moved)
		order := &hostir.Set{Info: info(s, "back to the order of "+set.Out.Name), Out: set.Out, In: moved}
		set.Out = moved
		return []hostir.Stmt{set, order}
	})
	return nil
}

// gathered is the logical axis of the result that a Set makes whole, or -1.
func gathered(s *hostir.Set) int {
	row := hostir.AxisMap(s)[0]
	for _, i := range crossing(s.In, s.Out, row) {
		if device(s.In.Axes[i]) != "" && device(s.Out.Axes[row[i]]) == "" {
			return row[i]
		}
	}
	return -1
}

// isOutermost reports whether nothing but Stream axes and axes of one element lies
// outside of axis.
func isOutermost(t *hostir.Tensor, axis int) bool {
	for _, a := range layout(t) {
		if a == axis {
			return true
		}
		if t.Axes[a].Kind != domain.Stream && t.Axes[a].LocalSize() > 1 {
			return false
		}
	}
	return false
}

// outermost is t's layout with its Stream axes first, axis next, then the others.
func outermost(t *hostir.Tensor, axis int) []int {
	var streams, rest []int
	for _, a := range layout(t) {
		switch {
		case t.Axes[a].Kind == domain.Stream:
			streams = append(streams, a)
		case a != axis:
			rest = append(rest, a)
		}
	}
	return append(append(streams, axis), rest...)
}
