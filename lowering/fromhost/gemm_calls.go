package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// gemms returns the number of GEMMs in all calls together: batches times calls.
func (p gemm) gemms() extents.Quantity {
	count := p.batch
	for _, axis := range p.calls {
		count = extents.Times(axis.extent, count)
	}
	return count
}

// calls wraps a call in loops over the axes in p.calls.
func (b *builder) calls(p gemm, call *calls.Gemm) []calls.Stmt {
	vars := make([]string, len(p.calls))
	for i, axis := range p.calls {
		vars[i] = b.names.Local("batch")
		at := extents.Quantity{Expr: expr.Var(vars[i]), Size: 1}
		call.Out, call.A, call.B = behind(call.Out, at, axis.c), behind(call.A, at, axis.a), behind(call.B, at, axis.b)
		if call.Addend != nil {
			*call.Addend = behind(*call.Addend, at, axis.c)
		}
		if call.ScalesA != nil {
			*call.ScalesA, *call.ScalesB = behind(*call.ScalesA, at, axis.scalesA), behind(*call.ScalesB, at, axis.scalesB)
		}
		if call.Bias != nil {
			*call.Bias = behind(*call.Bias, at, axis.bias)
		}
	}
	list := []calls.Stmt{call}
	for i, axis := range slices.Backward(p.calls) {
		loop := &calls.For{Var: vars[i], Count: axis.extent.Expr, Body: list}
		if i == 0 {
			loop.Note = "each in a call of its own: no one stride leads through these batches"
		}
		list = []calls.Stmt{loop}
		b.names.Release("batch", vars[i])
	}
	return list
}

// behind returns a pointer moved by count times stride elements.
func behind(p calls.Pointer, count, stride extents.Quantity) calls.Pointer {
	if stride.Size == 0 {
		return p
	}
	p.Offset = expr.Sum(p.Offset, extents.Times(count, stride).Expr)
	return p
}
