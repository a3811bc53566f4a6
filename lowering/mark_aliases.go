package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// MarkAliases lets a Reshape or Broadcast whose result is not an output share its
// operand's buffer: neither moves an element.
//
// Requires: nothing is allocated yet.
// Establishes: such a result is a View and will get no buffer.
//
//	before: R = Reshape(A)       tensor R: bf16 [M, K], temp
//	after:  R = Reshape(A)       tensor R: bf16 [M, K], view
func MarkAliases(p *hostir.Program) error {
	if isLowered(p.Body) {
		return nil
	}
	for _, s := range p.Body {
		switch s := s.(type) {
		case *hostir.Reshape:
			mark(s.In, s.Out)
		case *hostir.Broadcast:
			mark(s.In, s.Out)
		}
	}
	return nil
}

// mark makes out a view unless one of the two is split over ranks or streamed: the
// slices of a reshaped tensor need not be slices of its operand.
func mark(in, out *hostir.Tensor) {
	whole := func(a domain.Axis) bool { return a.Kind != domain.Device && a.Kind != domain.Stream }
	if out.Role == hostir.Temp && in.DType == out.DType && in.Layout == nil && out.Layout == nil &&
		!slices.ContainsFunc(in.Axes, func(a domain.Axis) bool { return !whole(a) }) &&
		!slices.ContainsFunc(out.Axes, func(a domain.Axis) bool { return !whole(a) }) {
		out.Role = hostir.View
	}
}
