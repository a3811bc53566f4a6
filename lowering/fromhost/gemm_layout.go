package fromhost

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls/extents"
)

// A leadingAxis is an axis of a GEMM's result other than the columns, with its strides in elements in the result (c),
// the operands (a, b) and the bias. A stride is 0 if the tensor has no such axis, or only one element along it.
type leadingAxis struct {
	extent           extents.Quantity
	c, a, b, bias    extents.Quantity
	scalesA, scalesB extents.Quantity // 0 if there are no scales of blocks
}

// gemmOf describes a GEMM of x and y as calls with batches of matrices. It first tries dense matrices. If these do not
// fit, it allows gaps between the rows of y's matrices (see closedUp), as in a slice of the columns of a matrix. If
// that does not fit either, misfit is a buffer whose layout cuBLASLt does not support. The bias may be nil.
func gemmOf(out, x, y, bias *buffer) (p gemm, misfit *buffer) {
	p, misfit = denseGemmOf(out, x, y, bias)
	if misfit == nil {
		return p, nil
	}
	if together, row, byColumns := closedUp(y); together != nil {
		if apart, misfit := denseGemmOf(out, x, together, bias); misfit == nil {
			apart.rowB, apart.transposeB = row, byColumns
			return apart, nil
		}
	}
	return p, misfit
}

// closedUp returns y as if its matrices were dense: without gaps between rows or, if they are stored by columns,
// between columns. row is the actual stride of rows or columns. together is nil if there are no gaps, or if the
// elements within a row are not adjacent.
func closedUp(y *buffer) (together *buffer, row extents.Quantity, byColumns bool) {
	closed := *y
	closed.dims = slices.Clone(y.dims)
	matrix := closed.dims[len(closed.dims)-2:]
	outer, inner := &matrix[0], &matrix[1]
	if outer.extent.IsOne() || !inner.extent.IsOne() && inner.stride.Size > outer.stride.Size {
		outer, inner, byColumns = inner, outer, true
	}
	if !inner.extent.IsOne() && inner.stride.Size != 1 || outer.stride.Size <= inner.extent.Size {
		return nil, row, false
	}
	row, outer.stride = outer.stride, inner.extent
	return &closed, row, byColumns
}

// denseGemmOf describes a GEMM whose matrices have no gaps. It sorts the leading axes by their strides in the result.
// The outermost are separate calls, the next ones are batches, and the innermost are rows. The batches of a call have
// one stride in each operand, and a call has one row of the bias. It tries the fewest axes of calls first, and for each
// number of them the most rows. If even calls of single rows fail, misfit is a result or an x whose last axis has gaps, or a y
// whose matrices are not dense.
func denseGemmOf(out, x, y, bias *buffer) (p gemm, misfit *buffer) {
	axes := leadingAxes(out, x, y, bias)
	for outer := 0; outer <= len(axes); outer++ {
		for rows := len(axes) - outer; rows >= 0; rows-- {
			if p, misfit = batchesOf(axes[outer:], rows, out, x, y); misfit == nil {
				p.calls = axes[:outer]
				return p, nil
			}
		}
	}
	return p, misfit
}

// leadingAxes lists the axes of a result other than the columns, outermost in memory first, without axes of one
// element. The leading axes of x, without the summed axis, are aligned with them from the last axis on. y and the bias
// have no rows, so their leading axes are aligned with the batches. scales are the scales of x and of y, or empty. Each
// has the leading axes of its operand.
func leadingAxes(out, x, y, bias *buffer, scales ...*buffer) []leadingAxis {
	leading := out.dims[:len(out.dims)-1]
	var axes []leadingAxis
	for i, d := range leading {
		if d.extent.IsOne() {
			continue
		}
		back := len(leading) - i // counted from the end; 1 is the axis of rows
		axis := leadingAxis{d.extent, d.stride, strideAt(x.dims[:len(x.dims)-1], back), strideAt(y.dims[:len(y.dims)-2], back-1),
			extents.Number(0), extents.Number(0), extents.Number(0)}
		if bias != nil {
			axis.bias = strideAt(bias.dims[:len(bias.dims)-1], back-1)
		}
		if len(scales) > 0 {
			of, other := scales[0].dims, scales[1].dims
			axis.scalesA, axis.scalesB = strideAt(of[:len(of)-1], back), strideAt(other[:len(other)-2], back-1)
		}
		axes = append(axes, axis)
	}
	slices.SortStableFunc(axes, func(a, b leadingAxis) int { return cmp.Compare(b.c.Size, a.c.Size) })
	return axes
}

// strideAt returns the stride of the axis with number back, counted from the end, where 1 is the last axis. It is 0 if
// there is no such axis, or if it has one element.
func strideAt(dims []dim, back int) extents.Quantity {
	if at := len(dims) - back; back > 0 && at >= 0 && !dims[at].extent.IsOne() {
		return dims[at].stride
	}
	return extents.Number(0)
}

// batchesOf describes one call: the given number of innermost axes are rows, and the others are batches. If that does
// not fit, misfit is a buffer that does not fit.
func batchesOf(axes []leadingAxis, rows int, out, x, y *buffer) (p gemm, misfit *buffer) {
	batch, inner := axes[:len(axes)-rows], axes[len(axes)-rows:]
	p = gemm{m: extents.Number(1), n: last(out.dims).extent, k: last(x.dims).extent, batch: extents.Number(1)}
	c, a := []dim{last(out.dims)}, []dim{last(x.dims)}
	for i, axis := range slices.Backward(inner) {
		if axis.b.Size != 0 || axis.bias.Size != 0 {
			return p, y
		}
		p.m = extents.Times(axis.extent, p.m)
		c = append([]dim{{i, axis.extent, axis.c}}, c...)
		a = append([]dim{{i, axis.extent, axis.a}}, a...)
	}
	for _, axis := range batch {
		p.batch = extents.Times(p.batch, axis.extent)
	}
	var fits, turned bool
	if turned, fits = matrix(c); !fits || turned {
		return p, out
	}
	if p.transposeA, fits = matrix(a); !fits {
		return p, x
	}
	if p.transposeB, fits = matrix(y.dims[len(y.dims)-2:]); !fits {
		return p, y
	}
	if p.strideA, p.strideB, p.strideC, fits = strides(batch); !fits {
		return p, x
	}
	return p, nil
}

// matrix interprets axes as a matrix: the last axis is its columns, and the others are its rows. transposed means that
// the matrix is stored by columns. ok is false if it is dense neither by rows nor by columns, so that cuBLASLt calls
// cannot read it.
func matrix(axes []dim) (transposed, ok bool) {
	if rowMajor(axes) {
		return false, true
	}
	byColumns := append([]dim{last(axes)}, axes[:len(axes)-1]...)
	return true, rowMajor(byColumns)
}

// strides returns the strides of a batch in the operands and the result. ok is false if an operand or the result has no
// single stride for all axes of the batch, or if the bias varies along them.
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
