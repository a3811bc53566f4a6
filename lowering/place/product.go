package place

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// product writes a GEMM with blocks as the outermost batch axes. The first operand has no leading batch axes of one element, which would
// cost a transposed operand a copy. The scales of a BlockLinear have the batch axes of the operands that they scale.
func (r *rewriter) product(s hostir.Stmt, in []form, rows [][]int) form {
	uses, rank := hostir.Uses(s), len(hostir.Result(s).Axes)
	k, second := len(uses[0].Axes)-1, len(uses[1].Axes)
	column := second - 1
	inner := column - 1
	if !hostir.Is[*hostir.Matmul](s) {
		column, inner = inner, column
	}
	scaled := hostir.Is[*hostir.BlockLinear](s)
	if scaled { // AxisMap maps no axis to the columns of the result, but the dims need their axis number
		rows[1][column], rows[3][column] = rank-1, rank-1
	}
	x := form{in[0].tensor, summed(in[0].dims, k, rows[0])}
	w := form{in[1].tensor, summed(in[1].dims, inner, rows[1])}
	made := elementsOf(in[1], column)
	made.axis = rank - 1

	blocks, batched := r.ranked(x, w), len(r.ranked(w)) > 0
	var lead, ofX, ofW []dim // dims of the result between blocks and columns, and the corresponding dims of each operand
	for j := range rank - 1 {
		xd, wd := one, one
		if a := j - (rank - 1 - k); a >= 0 {
			xd = elementsOf(x, j)
		}
		if b := j - (rank - second); b >= 0 && j < rank-2 {
			wd = elementsOf(w, j)
		}
		d := xd
		if wd.Size > d.Size {
			d = wd
		}
		if d.Size == 1 && j < rank-2 && !has(x, j) && !has(w, j) {
			continue // each rank has one element, so that the block is enough
		}
		d.axis = j
		lead, ofX = append(lead, d), append(ofX, xd)
		if j < rank-2 {
			ofW = append(ofW, wd)
		}
	}
	for !batched && len(ofW) > 0 && !ofW[0].counts() {
		ofW = ofW[1:]
	}
	front := func(f form) []dim {
		list := slices.Clone(blocks)
		for i, b := range list {
			if !slices.ContainsFunc(f.dims, b.is) {
				list[i] = one
			}
		}
		if !slices.ContainsFunc(list, dim.split) && !batched {
			return nil
		}
		return list
	}
	left := func(k int) form { // the first operand, or its scales
		f, last := form{in[k].tensor, summed(in[k].dims, len(uses[k].Axes)-1, rows[k])}, elementsOf(in[k], len(uses[k].Axes)-1)
		last.axis = summands
		list := append(slices.Concat(front(f), ofX), last)
		for len(list) > 2 && !list[0].counts() {
			list = list[1:]
		}
		return r.arranged(f, list)
	}
	right := func(k int) form { // the second operand, or its scales
		matrix := []dim{elementsOf(in[k], second-2), elementsOf(in[k], second-1)}
		matrix[inner-second+2].axis, matrix[column-second+2].axis = summands, rank-1
		f := form{in[k].tensor, summed(in[k].dims, inner, rows[k])}
		return r.arranged(f, slices.Concat(front(f), ofW, matrix))
	}
	operands := []form{left(0), right(1)}
	switch {
	case scaled:
		operands = append(operands, left(2), right(3))
	case len(in) > 2: // a bias of the batches and columns
		b := form{in[2].tensor, renumbered(in[2].dims, rows[2])}
		operands = append(operands, r.arranged(b, stretched(b, slices.Concat(blocks, lead[:len(lead)-1], []dim{made}))))
	}
	return r.clone(s, operands, slices.Concat(blocks, lead, []dim{made}))[0]
}

// has reports whether a form has elements of an axis.
func has(f form, axis int) bool {
	return slices.ContainsFunc(f.dims, hasElements(axis))
}

// elementsOf returns the dim of the elements of an axis, or a dim of one element if the form has none.
func elementsOf(f form, axis int) dim { return f.elements(axis, axis+1)[0] }

// summed renumbers dims as axes of the result. The dims of the summed axis become summands.
func summed(dims []dim, axis int, row []int) []dim {
	list := slices.Clone(dims)
	for i, d := range list {
		switch {
		case d.axis == axis:
			list[i].axis = summands
		case d.axis >= 0:
			list[i].axis = row[d.axis]
		}
	}
	return list
}
