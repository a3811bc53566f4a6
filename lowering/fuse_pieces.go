package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
)

// FusePieces makes pipelines whose slices are cut into the same pieces one loop over the
// pieces, as interchange: true asks for: the parts of a piece are made and summed, and the sum is
// gathered, before the next piece begins. What is gathered can then travel while the next piece
// is computed. The loop over the pieces of a slice becomes the outer one, and neighbours over
// the same pieces become one loop. Both change the order of pieces and slices, so they take
// place only where all that is written is written and read by piece, along one axis.
//
// Requires: a pipeline of pieces is a loop over slices around one over their pieces.
// Establishes: no two neighbours over pieces could be one loop.
//
//	before: For s: For piece: P_s_piece = ...; For piece: R_piece = Reduce(P_parts_piece); For s: For piece: C_s_piece = ...
//	after:  For piece: (For s: P_s_piece = ...; R_piece = Reduce(P_parts_piece); For s: C_s_piece = ...)
func FusePieces(p *hostir.Program) error {
	if interchanged(p) == 0 {
		return nil
	}
	f := &pieceFusion{interchanged(p)}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		loop := f.turn(s)
		if loop == nil {
			body = f.append(body, s)
			continue
		}
		body = f.append(body, loop)
	}
	p.Body = body
	return nil
}

// pieceFusion makes loops over pieces one.
type pieceFusion struct{ pieces int64 }

// overPieces gives a statement as a loop over pieces, or nil.
func (f *pieceFusion) overPieces(s hostir.Stmt) *hostir.For {
	loop, ok := s.(*hostir.For)
	if !ok || loop.First != 0 || loop.Count.Size != f.pieces {
		return nil
	}
	if !hostir.Any(loop.Body, func(s hostir.Stmt) bool { return hostir.NamesPart(s, f.pieces, loop.Var) }) {
		return nil
	}
	return loop
}

// turn makes the loop over pieces inside of one over slices the outer one; nil for any other
// statement.
func (f *pieceFusion) turn(s hostir.Stmt) *hostir.For {
	slice, ok := s.(*hostir.For)
	if !ok {
		return nil
	}
	at := slices.IndexFunc(slice.Body, func(s hostir.Stmt) bool { return f.overPieces(s) != nil })
	if at < 0 {
		return nil
	}
	piece := f.overPieces(slice.Body[at])
	if !f.independent(piece.Var, slice.Body) {
		return nil
	}
	slice.Body = slices.Concat(slice.Body[:at], piece.Body, slice.Body[at+1:])
	return &hostir.For{
		Info: hostir.InfoFrom(slice, pieceByPiece),
		Var:  piece.Var, Count: piece.Count, Body: []hostir.Stmt{slice},
	}
}

// append adds a statement to a list, or, where both are loops over the same pieces, to the last
// one of the list. A buffer is allocated before such loops.
func (f *pieceFusion) append(body []hostir.Stmt, s hostir.Stmt) []hostir.Stmt {
	n := len(body)
	for n > 0 && f.overPieces(body[n-1]) != nil {
		n--
	}
	if _, ok := s.(*hostir.Allocate); ok || n == len(body) {
		return slices.Insert(body, n, s)
	}
	last, next := f.overPieces(body[len(body)-1]), f.overPieces(s)
	if next == nil || next.Var != last.Var || !f.independent(last.Var, slices.Concat(last.Body, next.Body)) {
		return append(body, s)
	}
	last.Body = append(last.Body, next.Body...)
	return body
}

// independent reports whether what statements do for one piece touches nothing that they write
// for another one.
func (f *pieceFusion) independent(variable string, body []hostir.Stmt) bool {
	along, written, mixed := map[*hostir.Tensor]int{}, map[*hostir.Tensor]bool{}, map[*hostir.Tensor]bool{}
	hostir.Walk(body, func(s hostir.Stmt) bool {
		for _, t := range hostir.Mentions(s) {
			for _, r := range f.regions(t, variable) {
				axis, known := along[r.buffer]
				mixed[r.buffer] = mixed[r.buffer] || r.piece == shard.NoAxis || known && axis != r.piece
				along[r.buffer] = r.piece
				written[r.buffer] = written[r.buffer] || slices.Contains(hostir.Defs(s), t)
			}
		}
		return true
	})
	for buffer := range written {
		if written[buffer] && mixed[buffer] {
			return false
		}
	}
	return true
}

// region is a part of a buffer: the piece at hand along an axis, or, with an axis of none, not
// that alone. axes are those of the buffer behind the axes of the view.
type region struct {
	buffer *hostir.Tensor
	piece  int
	axes   []int
}

// regions gives the part of a buffer that a tensor is, on each path to it.
func (f *pieceFusion) regions(t *hostir.Tensor, variable string) []region {
	switch of := t.Of.(type) {
	case nil:
		whole := region{buffer: t, piece: shard.NoAxis, axes: make([]int, len(t.Axes))}
		for i := range whole.axes {
			whole.axes[i] = i
		}
		return []region{whole}
	case *hostir.Either:
		return slices.Concat(f.regions(of.Then, variable), f.regions(of.Else, variable))
	}
	var list []region
	for _, r := range f.regions(hostir.Uses(t.Of)[0], variable) {
		list = append(list, f.within(t, r, variable))
	}
	return list
}

// within is the part of a region that a view is.
func (f *pieceFusion) within(t *hostir.Tensor, r region, variable string) region {
	sel, ok := t.Of.(*hostir.Select)
	switch {
	case !ok:
		return region{r.buffer, r.piece, slices.Repeat([]int{shard.NoAxis}, len(t.Axes))}
	case sel.Parts == 0:
		r.axes = slices.Delete(slices.Clone(r.axes), sel.Axis, sel.Axis+1)
	case sel.Parts == f.pieces && sel.Index == expr.Var(variable):
		r.piece = r.axes[sel.Axis]
	}
	return r
}
