package place

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// product writes a matmul or linear with blocks as the outermost batch axes. The first operand has no leading batch axes of one element,
// which would cost a transposed operand a copy.
func (r *rewriter) product(s hostir.Stmt, in []form, rows [][]int) form {
	uses, rank := hostir.Uses(s), len(hostir.Result(s).Axes)
	k, second := len(uses[0].Axes)-1, len(uses[1].Axes)
	column := second - 1
	inner := column - 1
	if _, linear := s.(*hostir.Linear); linear {
		column, inner = inner, column
	}
	x := form{in[0].tensor, summed(in[0].dims, k, rows[0])}
	w := form{in[1].tensor, summed(in[1].dims, inner, rows[1])}
	matrix := []dim{elementsOf(in[1], second-2), elementsOf(in[1], second-1)}
	outer := []dim{elementsOf(in[0], k)}
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
	outer[0].axis, matrix[inner-second+2].axis = summands, summands
	matrix[column-second+2].axis = rank - 1
	left := slices.Concat(front(x), ofX, outer)
	for len(left) > 2 && !left[0].counts() {
		left = left[1:]
	}
	operands := []form{r.arranged(x, left), r.arranged(w, slices.Concat(front(w), ofW, matrix))}
	for range in[2:] { // a bias of the batches and columns
		b := form{in[2].tensor, renumbered(in[2].dims, rows[2])}
		operands = append(operands, r.arranged(b, stretched(b, slices.Concat(blocks, lead[:len(lead)-1], []dim{made}))))
	}
	return r.clone(s, operands, slices.Concat(blocks, lead, []dim{made}))[0]
}

// has reports whether a form has elements of an axis.
func has(f form, axis int) bool {
	return slices.ContainsFunc(f.dims, func(d dim) bool { return d.axis == axis && d.ranks == "" })
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
