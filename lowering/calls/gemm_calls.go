package calls

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
)

// A leadingAxis is an axis of a GEMM's result in front of the columns, with its stride in the
// result, the operands and the bias: 0 where one has no such axis, or one element for all.
type leadingAxis struct {
	extent        quantity
	c, a, b, bias quantity
}

// inCalls reads a GEMM as calls of batches of matrices: of the axes in front of the columns, in
// the order in which those of the result lie in memory, the outermost are calls, those behind them
// batches and the innermost rows. A batch has one stride in each of them, and a call one row of the
// bias. It looks for the fewest axes of calls, and then for the most rows. ok is false where columns, or what is summed, do not lie as cuBLASLt can read them.
func inCalls(out, x, y, bias *buffer) (p gemm, ok bool) {
	axes := leadingAxes(out, x, y, bias)
	for calls := 0; calls <= len(axes); calls++ {
		for rows := len(axes) - calls; rows >= 0; rows-- {
			if p, ok := batchesOf(axes[calls:], rows, out, x, y); ok {
				p.calls = axes[:calls]
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
		if d.extent.isOne() {
			continue
		}
		back := len(leading) - i // 1 for the rows
		axis := leadingAxis{d.extent, d.stride, strideAt(x.dims[:len(x.dims)-1], back), strideAt(y.dims[:len(y.dims)-2], back-1), number(0)}
		if bias != nil {
			axis.bias = strideAt(bias.dims[:len(bias.dims)-1], back-1)
		}
		axes = append(axes, axis)
	}
	slices.SortStableFunc(axes, func(a, b leadingAxis) int { return cmp.Compare(b.c.size, a.c.size) })
	return axes
}

// strideAt is the stride of axis -back, or 0 where there is none, or one element.
func strideAt(dims []dim, back int) quantity {
	if at := len(dims) - back; back > 0 && at >= 0 && !dims[at].extent.isOne() {
		return dims[at].stride
	}
	return number(0)
}

// batchesOf is one call: so many of the axes, the innermost, are rows, and the others batches.
func batchesOf(axes []leadingAxis, rows int, out, x, y *buffer) (p gemm, ok bool) {
	batch, inner := axes[:len(axes)-rows], axes[len(axes)-rows:]
	p = gemm{m: number(1), n: last(out.dims).extent, k: last(x.dims).extent, batch: number(1)}
	c, a := []dim{last(out.dims)}, []dim{last(x.dims)}
	for i, axis := range slices.Backward(inner) {
		if axis.b.size != 0 || axis.bias.size != 0 {
			return p, false
		}
		p.m = times(axis.extent, p.m)
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
		p.batch = times(p.batch, axis.extent)
	}
	return p, !slices.Contains(fits[:], false)
}

// strides are the distances of the matrices of a batch in the operands and the result; ok is false
// where one stride does not lead through all of its axes, or the bias differs along them.
func strides(batch []leadingAxis) (a, b, c quantity, ok bool) {
	a, b, c = number(0), number(0), number(0)
	for i, axis := range slices.Backward(batch) {
		if axis.bias.size != 0 {
			return a, b, c, false
		}
		if i == len(batch)-1 {
			a, b, c = axis.a, axis.b, axis.c
			continue
		}
		inner := batch[i+1]
		for _, stride := range [][2]quantity{{axis.a, inner.a}, {axis.b, inner.b}, {axis.c, inner.c}} {
			if stride[0].size != mustMultiply(stride[1].size, inner.extent.size) {
				return a, b, c, false
			}
		}
	}
	return a, b, c, true
}

// gemms is how many GEMMs all calls make.
func (p gemm) gemms() quantity {
	count := p.batch
	for _, axis := range p.calls {
		count = times(axis.extent, count)
	}
	return count
}

// calls puts a call into loops over the axes that it does not cover.
func (b *builder) calls(p gemm, call *Gemm) []Stmt {
	vars := make([]string, len(p.calls))
	for i, axis := range p.calls {
		vars[i] = b.names.local("batch")
		at := quantity{expr.Var(vars[i]), 1}
		call.Out, call.A, call.B = behind(call.Out, at, axis.c), behind(call.A, at, axis.a), behind(call.B, at, axis.b)
		if call.Addend != nil {
			*call.Addend = behind(*call.Addend, at, axis.c)
		}
		if call.Bias != nil {
			*call.Bias = behind(*call.Bias, at, axis.bias)
		}
	}
	list := []Stmt{call}
	for i, axis := range slices.Backward(p.calls) {
		loop := &For{Var: vars[i], Count: axis.extent.expr, Body: list}
		if i == 0 {
			loop.Note = "each in a call of its own: no one stride leads through these batches"
		}
		list = []Stmt{loop}
		b.names.release("batch", vars[i])
	}
	return list
}

// behind is a pointer so many strides behind another one.
func behind(p Pointer, count, stride quantity) Pointer {
	if stride.size == 0 {
		return p
	}
	p.Offset = added(p.Offset, times(count, stride).expr)
	return p
}
