package fromhost

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/calls/extents"
)

// gemmOf finds the rows and the batches of a GEMM of x and y, or the buffer that has none that
// cuBLASLt can read. The rows of the second operand's matrices may lie apart, where none but those of
// dense ones would do: a GEMM without rows is cut along its columns. The bias may be nil.
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

// denseGemmOf finds the rows and the batches of a GEMM whose matrices have no gaps. Where the second operand is one matrix, all leading axes of the first are
// rows, in the order in which they lie in memory, or, where they are not one run of it, the
// outermost of them are batches. Otherwise those that stand before its last two are batches, as
// NumPy has it. What is no batch with one stride takes several calls: see inCalls. The bias may be nil.
func denseGemmOf(out, x, y, bias *buffer) (p gemm, misfit *buffer) {
	operands := [3]*buffer{out, x, y}
	dims := [3][]dim{out.dims, x.dims, y.dims}
	least, most := 0, max(0, len(out.dims)-2)
	if extentOf(y.dims[:len(y.dims)-2]).IsOne() {
		dims[0], dims[1] = asTheyLie(out.dims, x.dims)
		most = max(0, len(dims[0])-2)
	} else {
		least = most
	}
	at := 0
	for batches := least; batches <= most && !biasOfBatches(bias); batches++ {
		if p, at = batched(dims, batches); at < 0 {
			return p, nil
		}
	}
	if p, ok := inCalls(out, x, y, bias); ok {
		return p, nil
	}
	return p, operands[at]
}

// biasOfBatches reports whether a bias has more than one row. The bias may be nil.
func biasOfBatches(bias *buffer) bool {
	return bias != nil && !extentOf(bias.dims[:len(bias.dims)-1]).IsOne()
}

// asTheyLie puts the leading axes of a result and its first operand in the order in which those of
// the result lie in memory, outermost first. Axes of one element are left out.
func asTheyLie(out, x []dim) (sortedOut, sortedX []dim) {
	if len(out) != len(x) {
		return out, x
	}
	var order []int
	for i := range len(out) - 1 {
		if !out[i].extent.IsOne() {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(out[j].stride.Size, out[i].stride.Size) })
	for _, i := range append(order, len(out)-1) {
		sortedOut, sortedX = append(sortedOut, out[i]), append(sortedX, x[i])
	}
	return sortedOut, sortedX
}

// batched is a GEMM whose outermost axes, so many, are batches. misfit says which of the result
// and the operands does not lie so, and is negative if all do.
func batched(dims [3][]dim, batches int) (p gemm, misfit int) {
	out, x, y := dims[0], dims[1], dims[2]
	batch, rows := out[:batches], out[batches:len(out)-1]
	p = gemm{m: extentOf(rows), n: last(out).extent, k: last(x).extent, batch: extentOf(batch)}
	var fits, turned bool
	if p.strideC, turned, fits = matrix(out, len(rows)+1, batch); !fits || turned {
		return p, 0
	}
	if p.strideA, p.transposeA, fits = matrix(x, min(len(rows)+1, len(x)), batch); !fits {
		return p, 1
	}
	if p.strideB, p.transposeB, fits = matrix(y, 2, batch); !fits {
		return p, 2
	}
	return p, -1
}

// matrix reads the last `inner` axes of a buffer as a matrix: the last one is its
// columns, the ones before are its rows. It gives the distance of the matrices of a
// batch, 0 where they are one and the same, and whether each is stored by columns; ok
// is false when cuBLASLt, as we call it, cannot read the buffer.
func matrix(dims []dim, inner int, batch []dim) (stride extents.Quantity, transposed, ok bool) {
	own, axes := dims[:len(dims)-inner], dims[len(dims)-inner:]
	stride, ok = batchStride(own, batch)
	if !ok {
		return extents.Number(0), false, false
	}
	if rowMajor(axes) {
		return stride, false, true
	}
	byColumns := append([]dim{last(axes)}, axes[:len(axes)-1]...)
	return stride, true, rowMajor(byColumns)
}

// batchStride is the distance between the matrices of a batch, when there is one. The
// operand's own batch axes are aligned with the batch from the last one; where it has
// no axis, or one of one element, its matrix is used again.
func batchStride(own, batch []dim) (stride extents.Quantity, ok bool) {
	stride = extents.Number(0)
	next, first := int64(0), true // the stride that continues the run
	for i, d := range slices.Backward(batch) {
		if d.extent.IsOne() {
			continue
		}
		step := extents.Number(0)
		if at := len(own) - (len(batch) - i); at >= 0 && !own[at].extent.IsOne() {
			step = own[at].stride
		}
		if first {
			stride, first = step, false
		} else if step.Size != next {
			return extents.Number(0), false
		}
		next = extents.MustMultiply(step.Size, d.extent.Size)
	}
	return stride, true
}
