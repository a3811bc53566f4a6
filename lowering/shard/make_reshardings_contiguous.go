package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MakeReshardingsContiguous copies what a communication, a matmul or a reshape could
// not take as it lies. A communication moves memory as it lies, so its operand gets the
// order of its result. A pipeline takes slices along the Stream axis, which have gaps
// when another axis lies outside of it: a Temp is laid out with the Stream axis
// outermost, and what the caller lays out is copied slice by slice. Elementwise
// operations take such slices as they are. And a communication converts nothing: the parts of
// a sum over ranks get the type of its result.
//
// Requires: gathered and scattered axes are outermost.
// Establishes: both sides of a movement list their axes in one order; slices that are
// moved, multiplied or reshaped are whole, and have one type where they are moved.
//
//	before: B = Set(A)                       A layout [1, 0], B layout [0, 1]
//	after:  A_packed = Set(A); B = Set(A_packed)       A_packed layout [0, 1]
func MakeReshardingsContiguous(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	wholeSlices(p) // of the movements that other passes added
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
	moves func(hostir.Stmt) string // what the schedule calls a movement between ranks
	copier
	viewed map[*hostir.Tensor]bool   // tensors that some view is a view of
	casts  map[string]*hostir.Tensor // by operand, type and axes: parts are cast once for what runs along one axis
}

// viewed finds the operands of statements that make views.
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
		return list // a Stream axis along columns is for lower-streams to refuse, in the words of the spec
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

// inOneOrder reports whether both sides hold the axes that stay in one order.
func inOneOrder(m Movement) bool {
	from, to := StayingOrder(m.In, m.Out, m.Row)
	return slices.Equal(from, to)
}

// NeedsWholeSlices reports whether a statement takes its operands and writes its result
// as contiguous memory.
func NeedsWholeSlices(p *hostir.Program, s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Matmul, *hostir.Linear, *hostir.Reshape:
		return true
	default:
		return Moves(p, s)
	}
}

// sliced is t's layout with the axis that a pipeline slices outermost. What was laid out for a
// pipeline along another axis is in rows again behind it.
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
