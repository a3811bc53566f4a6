package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MakeReshardingsContiguous copies tensors that a statement, such as a communication or a matmul, cannot use in their
// layout. A communication does not reorder memory, so its operand gets the order of its result. A pipeline slices the
// Stream axis, and its slices have gaps if another axis lies outside of it. The pass therefore lays out a Temp with the
// Stream axis outermost, and copies tensors of the caller slice by slice. Elementwise operations read slices with gaps
// directly. A communication does not convert types, so the pass casts the parts of a sum over ranks to the type of the
// result.
//
// Requires: gathered and scattered axes are outermost.
// Establishes: both sides of a movement have their axes in the same order. Slices that are moved, multiplied or reshaped
// are contiguous. Both sides of a movement have one type, except for parts that a pipeline collects and a rank then
// reduces.
//
//	before: B = Set(A)                       A layout [1, 0], B layout [0, 1]
//	after:  A_packed = Set(A); B = Set(A_packed)       A_packed layout [0, 1]
func MakeReshardingsContiguous(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	wholeSlices(p) // for the movements that other passes added
	c := &contiguity{hostir.Communications(p), copier{p, hostir.NewNamer(p)}, viewed(p.Body), map[string]*hostir.Tensor{}}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		for _, s := range c.statement(s) {
			body = append(body, c.sameTypes(s)...)
		}
	}
	p.Body = body
	return nil
}

type contiguity struct {
	moves func(hostir.Stmt) string // the name of a movement between ranks in the schedule
	copier
	viewed map[*hostir.Tensor]bool   // tensors that have views
	casts  map[string]*hostir.Tensor // results of casts, by operand, type and axes, to share them between reductions
}

// viewed returns the operands of statements that make views.
func viewed(body []hostir.Stmt) map[*hostir.Tensor]bool {
	bases := map[*hostir.Tensor]bool{}
	for _, s := range body {
		if out := hostir.Result(s); out != nil && out.Role == hostir.View {
			bases[hostir.Uses(s)[0]] = true
		}
	}
	return bases
}

func (c *contiguity) statement(s hostir.Stmt) []hostir.Stmt {
	list := []hostir.Stmt{s}
	out := hostir.Result(s)
	if out == nil || hostir.AxisMap(s) == nil || hostir.StreamsColumns(s) {
		return list // lower-streams rejects a Stream axis along columns, in terms of the spec
	}
	axis := hostir.StreamAxis(out)
	if r, ok := s.(*hostir.Reshape); ok && SlicedAlong(r) == NoAxis {
		axis = NoAxis
	}
	if axis >= 0 && hostir.Outside(out, axis) >= 0 && out.Role == hostir.Temp && !c.viewed[out] {
		out.Layout = outermost(out, axis)
	}
	if Moves(c.program, s) {
		if m := Describe(s); !inOneOrder(m) || m.Scattered() >= 0 && !isOutermost(m.In, m.Scattered(), m.streams) {
			list = c.before(s, 0, packed(m, m.Scattered()))
		}
	}
	list = c.multipliably(c.readably(list))
	if !NeedsWholeSlices(c.program, s) {
		return list
	}
	for k := range hostir.Uses(s) {
		t, row := hostir.Uses(s)[k], hostir.AxisMap(s)[k]
		if i := slices.Index(row, axis); axis >= 0 && i >= 0 && hostir.Outside(t, i) >= 0 {
			order := sliced(t, i)
			if Reshards(s) {
				m := Describe(s)
				order = packed(m, m.Scattered())
			}
			list = append(list[:len(list)-1], c.before(s, k, order)...)
		}
	}
	if axis >= 0 && hostir.Outside(out, axis) >= 0 && out.Role != hostir.View {
		list = c.after(list, s, outermost(out, axis))
	}
	return list
}

// inOneOrder reports whether both sides of a movement have the same order of the axes that stay on their ranks.
func inOneOrder(m Movement) bool {
	from, to := StayingOrder(m.In, m.Out, m.Row)
	return slices.Equal(from, to)
}

// NeedsWholeSlices reports whether a statement reads its operands and writes its result as contiguous memory.
func NeedsWholeSlices(p *hostir.Program, s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Matmul, *hostir.Linear, *hostir.BlockLinear, *hostir.Reshape:
		return true
	default:
		return Moves(p, s)
	}
}

// sliced returns the layout of t with the given axis outermost, for a pipeline that slices it. If t was laid out for a
// pipeline along another axis, the other axes return to logical order.
func sliced(t *hostir.Tensor, axis int) []int {
	order := hostir.Layout(t)
	if own := hostir.StreamAxis(t); own >= 0 && own != axis {
		order = logicalOrder(t)
	}
	return inFront(order, func(a int) int {
		if a == axis {
			return 0
		}
		return 1
	})
}
