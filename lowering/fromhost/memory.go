package fromhost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// allocate declares the buffer of a Temp. The program allocates buffers once, before the first call. An Allocate inside
// a loop declares one buffer per iteration, because iterations may overlap.
func (b *builder) allocate(s *hostir.Allocate) []calls.Stmt {
	t := s.Tensor
	if t.Role == hostir.Output || t.Role == hostir.Input {
		return nil // arguments has declared it
	}
	buf := b.newBuffer(t, b.names.Member(t.Name))
	elements := buf.elements()
	shape := buf.shape()
	if len(b.loops) > 0 {
		shape = append([]expr.Expr{b.iterations().Expr}, shape...)
	}
	b.out.Buffers = append(b.out.Buffers, &calls.Buffer{
		Name: buf.base, Type: t.DType, Elements: extents.Times(b.iterations(), elements).Expr, Where: calls.At(s.Pos, t.Name), Guard: b.guard,
		Shape: shape,
	})
	if len(b.loops) > 0 {
		buf.at = step(iteration(b.loops), elements)
		b.copies[t] = b.iterations()
	}
	b.declare(t, buf)
	return nil
}

// step returns index times stride as an offset; nil if the index is 0.
func step(index expr.Expr, stride extents.Quantity) expr.Expr {
	if index == expr.Int(0) {
		return nil
	}
	switch {
	case stride.IsOne():
		return index
	case index == expr.Int(1):
		return stride.Expr
	}
	product := index
	for _, factor := range expr.Factors(stride.Expr) {
		product = &expr.Binary{Op: "*", X: product, Y: factor}
	}
	return product
}

// indexOf returns the index of a Select, over names of the calls.
func (b *builder) indexOf(s *hostir.Select) expr.Expr {
	return b.withCoordinates(b.meshOf(s.In), b.scope.Rename(expr.Fold(s.Index)))
}
