package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// MarkAliases lets a Reshape, Broadcast or Permute whose result is not an output share
// its operand's buffer: none of them moves an element. A permuted view steps through the
// buffer in its operand's order: what a product reads so is a transposed matrix, not a
// copy.
//
// Requires: nothing is allocated yet.
// Establishes: such a result is a View, with its layout where that is not logical, and
// gets no buffer.
//
//	before: R = Permute(A, perm [1, 0])       tensor R: bf16 [K, M], temp
//	after:  R = Permute(A, perm [1, 0])       tensor R: bf16 [K, M], view, layout [1, 0]
func MarkAliases(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	for _, s := range p.Body {
		switch s := s.(type) {
		case *hostir.Reshape:
			if s.In.Layout == nil {
				mark(s.In, s.Out)
			}
		case *hostir.Broadcast:
			if s.In.Layout == nil {
				mark(s.In, s.Out)
			}
		case *hostir.Permute:
			if mark(s.In, s.Out) {
				s.Out.Layout = carried(s)
			}
		}
	}
	return nil
}

// mark makes out a view if it is the program's own.
func mark(in, out *hostir.Tensor) bool {
	if out.Role != hostir.Temp || in.DType != out.DType || out.Layout != nil {
		return false
	}
	out.Role = hostir.View
	return true
}

// carried is the order in which the result of a Permute steps through its operand's
// buffer.
func carried(s *hostir.Permute) []int {
	row := hostir.AxisMap(s)[0]
	order := make([]int, 0, len(row))
	for _, i := range hostir.Layout(s.In) {
		if row[i] != hostir.Unmapped {
			order = append(order, row[i])
		}
	}
	return order
}
