package fromhost

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/calls/extents"
)

// A leadingAxis is an axis of a GEMM's result in front of the columns, with its stride in the
// result, the operands and the bias: 0 where one has no such axis, or one element for all.
type leadingAxis struct {
	extent        extents.Quantity
	c, a, b, bias extents.Quantity
}

// gemmOf reads a GEMM of x and y as calls of batches of matrices, or gives the buffer that cuBLASLt
// cannot read. The rows of the second operand's matrices may lie apart, where none but those of dense
// ones would do: a GEMM without rows is cut along its columns. The bias may be nil.
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

// closedUp is a buffer as if the rows of its matrices, or the columns of those stored by columns, were
// next to each other, with the stride that they have. It is nil where they are, and where elements
// within them are not.
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

// denseGemmOf reads a GEMM whose matrices have no gaps: of the axes in front of the columns, in the
// order in which those of the result lie in memory, the outermost are calls, those behind them batches
// and the innermost rows. A batch has one stride in each operand, and a call one row of the bias. It
// looks for the fewest axes of calls, and then for the most rows. Where not even calls of single rows
// do, the columns of one buffer, or what is summed in it, do not lie as cuBLASLt can read them.
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

// matrix reads axes as a matrix: the last one is its columns, the ones before are its rows. It tells
// whether the matrix is stored by columns; ok is false when cuBLASLt, as we call it, cannot read it.
func matrix(axes []dim) (transposed, ok bool) {
	if rowMajor(axes) {
		return false, true
	}
	byColumns := append([]dim{last(axes)}, axes[:len(axes)-1]...)
	return true, rowMajor(byColumns)
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
