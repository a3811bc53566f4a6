package fromhost

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/extents"
)

// A leadingAxis is an axis of a GEMM's result in front of the columns, with its stride in the
// result, the operands and the bias: 0 where one has no such axis, or one element for all.
type leadingAxis struct {
	extent        extents.Quantity
	c, a, b, bias extents.Quantity
}

// inCalls reads a GEMM as calls of batches of matrices: of the axes in front of the columns, in
// the order in which those of the result lie in memory, the outermost are calls, those behind them
// batches and the innermost rows. A batch has one stride in each of them, and a call one row of the
// bias. It looks for the fewest axes of calls, and then for the most rows. ok is false where columns, or what is summed, do not lie as cuBLASLt can read them.
func inCalls(out, x, y, bias *buffer) (p gemm, ok bool) {
	axes := leadingAxes(out, x, y, bias)
	for outer := 0; outer <= len(axes); outer++ {
		for rows := len(axes) - outer; rows >= 0; rows-- {
			if p, ok := batchesOf(axes[outer:], rows, out, x, y); ok {
				p.calls = axes[:outer]
				return p, true
			}
		}
	}
	return gemm{}, false
}

// leadingAxes lists the axes of a result in front of the columns, outermost in memory first, without
// those of one element. The operand's axes are aligned with them at the end, in front of what is
// summed; those of the second operand and of the bias, which have no rows, are the batches.
func leadingAxes(out, x, y, bias *buffer) []leadingAxis {
	leading := out.dims[:len(out.dims)-1]
	var axes []leadingAxis
	for i, d := range leading {
		if d.extent.IsOne() {
			continue
		}
		back := len(leading) - i // 1 for the rows
		axis := leadingAxis{d.extent, d.stride, strideAt(x.dims[:len(x.dims)-1], back), strideAt(y.dims[:len(y.dims)-2], back-1), extents.Number(0)}
		if bias != nil {
			axis.bias = strideAt(bias.dims[:len(bias.dims)-1], back-1)
		}
		axes = append(axes, axis)
	}
	slices.SortStableFunc(axes, func(a, b leadingAxis) int { return cmp.Compare(b.c.Size, a.c.Size) })
	return axes
}

// strideAt is the stride of axis -back, or 0 where there is none, or one element.
func strideAt(dims []dim, back int) extents.Quantity {
	if at := len(dims) - back; back > 0 && at >= 0 && !dims[at].extent.IsOne() {
		return dims[at].stride
	}
	return extents.Number(0)
}

// batchesOf is one call: so many of the axes, the innermost, are rows, and the others batches.
func batchesOf(axes []leadingAxis, rows int, out, x, y *buffer) (p gemm, ok bool) {
	batch, inner := axes[:len(axes)-rows], axes[len(axes)-rows:]
	p = gemm{m: extents.Number(1), n: last(out.dims).extent, k: last(x.dims).extent, batch: extents.Number(1)}
	c, a := []dim{last(out.dims)}, []dim{last(x.dims)}
	for i, axis := range slices.Backward(inner) {
		if axis.b.Size != 0 || axis.bias.Size != 0 {
			return p, false
		}
		p.m = extents.Times(axis.extent, p.m)
		c = append([]dim{{i, axis.extent, axis.c}}, c...)
		a = append([]dim{{i, axis.extent, axis.a}}, a...)
	}
	var fits [4]bool
	var turned bool
	if _, turned, fits[0] = matrix(c, len(c), nil); turned {
		return p, false
	}
	_, p.transposeA, fits[1] = matrix(a, len(a), nil)
	_, p.transposeB, fits[2] = matrix(y.dims[len(y.dims)-2:], 2, nil)
	p.strideA, p.strideB, p.strideC, fits[3] = strides(batch)
	for _, axis := range batch {
		p.batch = extents.Times(p.batch, axis.extent)
	}
	return p, !slices.Contains(fits[:], false)
}

// strides are the distances of the matrices of a batch in the operands and the result; ok is false
// where one stride does not lead through all of its axes, or the bias differs along them.
func strides(batch []leadingAxis) (a, b, c extents.Quantity, ok bool) {
	a, b, c = extents.Number(0), extents.Number(0), extents.Number(0)
	for i, axis := range slices.Backward(batch) {
		if axis.bias.Size != 0 {
			return a, b, c, false
		}
		if i == len(batch)-1 {
			a, b, c = axis.a, axis.b, axis.c
			continue
		}
		inner := batch[i+1]
		for _, stride := range [][2]extents.Quantity{{axis.a, inner.a}, {axis.b, inner.b}, {axis.c, inner.c}} {
			if stride[0].Size != extents.MustMultiply(stride[1].Size, inner.extent.Size) {
				return a, b, c, false
			}
		}
	}
	return a, b, c, true
}

// gemms is how many GEMMs all calls make.
func (p gemm) gemms() extents.Quantity {
	count := p.batch
	for _, axis := range p.calls {
		count = extents.Times(axis.extent, count)
	}
	return count
}

// calls puts a call into loops over the axes that it does not cover.
func (b *builder) calls(p gemm, call *calls.Gemm) []calls.Stmt {
	vars := make([]string, len(p.calls))
	for i, axis := range p.calls {
		vars[i] = b.names.Local("batch")
		at := extents.Quantity{Expr: expr.Var(vars[i]), Size: 1}
		call.Out, call.A, call.B = behind(call.Out, at, axis.c), behind(call.A, at, axis.a), behind(call.B, at, axis.b)
		if call.Addend != nil {
			*call.Addend = behind(*call.Addend, at, axis.c)
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

// behind is a pointer so many strides behind another one.
func behind(p calls.Pointer, count, stride extents.Quantity) calls.Pointer {
	if stride.Size == 0 {
		return p
	}
	p.Offset = expr.Sum(p.Offset, extents.Times(count, stride).Expr)
	return p
}
