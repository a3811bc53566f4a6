package place

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// dim is an axis of a form: the blocks of a tensor axis, one for each rank of a mesh axis, or the elements of a tensor axis.
type dim struct {
	axis  int    // index of the tensor's axis, or summands; the dim one has another negative number
	ranks string // for blocks: the mesh axis that has a rank for each block; empty for elements
	whole bool   // for blocks: each rank has all of them
	domain.Extent
}

// summands is the axis of a dim that is no axis of the tensor: the parts of a partial tensor, one for each rank, or the
// elements that a statement sums.
const summands = -1

// split reports whether each rank has only one of the blocks.
func (d dim) split() bool { return d.ranks != "" && !d.whole }

// hasElements returns a function that reports whether a dim has the elements of an axis.
func hasElements(axis int) func(dim) bool {
	return func(d dim) bool { return d.axis == axis && d.ranks == "" }
}

// is reports whether two dims are equal, whatever the text of their extents.
func (d dim) is(o dim) bool {
	return d.axis == o.axis && d.ranks == o.ranks && d.whole == o.whole && d.Size == o.Size
}

// counts reports whether a form needs the dim. Other dims have one element and are not split.
func (d dim) counts() bool { return d.split() || d.Size > 1 }

// one is a dim of one element that belongs to no axis of the tensor.
var one = dim{axis: summands - 1, Extent: domain.Extent{Size: 1}}

// form is a tensor of the new program: one placement of a tensor of the old program.
type form struct {
	tensor *hostir.Tensor
	dims   []dim
}

// axesOf returns the axes of dims.
func axesOf(dims []dim) []domain.Axis {
	list := make([]domain.Axis, len(dims))
	for i, d := range dims {
		if list[i].Extent = d.Extent; d.split() {
			list[i].Place(domain.Device, d.ranks)
		}
	}
	return list
}

// dimsOf returns the dims of a tensor as it is declared.
func dimsOf(t *hostir.Tensor) []dim {
	list := make([]dim, len(t.Axes))
	for i, a := range t.Axes {
		list[i] = dim{axis: i, ranks: hostir.SplitOver(a), Extent: a.Extent}
	}
	return list
}

// needed drops dims that a form does not need (see counts).
func needed(dims []dim) []dim {
	return lists.Except(dims, func(d dim) bool { return !d.counts() })
}

// arranged returns a form with the given dims: the dims of f that count, in another order, and dims of one element. It appends
// the permute, reshape or broadcasts that this needs.
func (r *rewriter) arranged(f form, dims []dim) form {
	from, to := needed(f.dims), needed(dims)
	if !slices.EqualFunc(from, to, dim.is) {
		perm := make([]int, len(to))
		for i, d := range to {
			perm[i] = slices.IndexFunc(f.dims, d.is)
		}
		order := slices.Clone(to)
		for i, d := range f.dims {
			if !d.counts() {
				perm, order = append(perm, i), append(order, d)
			}
		}
		f = r.add(f, "_turned", order, func(out *hostir.Tensor) hostir.Stmt {
			return &hostir.Permute{Info: r.info(""), Out: out, In: f.tensor, Perm: perm}
		})
	}
	return r.reshaped(f, dims)
}

// reshaped returns a form with other dims for the same elements in row-major order. If the axes change, it appends broadcasts,
// if these suffice, or else a reshape.
func (r *rewriter) reshaped(f form, dims []dim) form {
	if len(f.dims) < len(dims) && slices.EqualFunc(needed(f.dims), needed(dims), dim.is) && len(needed(f.dims)) == len(f.dims) {
		return r.stretched(f, dims)
	}
	if slices.EqualFunc(f.dims, dims, func(a, b dim) bool {
		return a.Size == b.Size && a.split() == b.split() && (a.ranks == b.ranks || !a.split())
	}) {
		return form{f.tensor, dims}
	}
	return r.add(f, "_rows", dims, func(out *hostir.Tensor) hostir.Stmt {
		return &hostir.Reshape{Info: r.info(""), Out: out, In: f.tensor}
	})
}

// stretched appends a broadcast for each dim of one element that a form lacks.
func (r *rewriter) stretched(f form, dims []dim) form {
	for i, d := range dims {
		if i < len(f.dims) && d.is(f.dims[i]) {
			continue
		}
		axes := slices.Insert(slices.Clone(f.dims), i, d)
		f = r.add(f, "_row", axes, func(out *hostir.Tensor) hostir.Stmt {
			out.Axes[i].Kind = domain.Broadcast
			return &hostir.Broadcast{Info: r.info(""), Out: out, In: f.tensor, Axis: i}
		})
	}
	return f
}

// cut divides the elements of an axis into blocks for the ranks of a mesh axis. Each rank still has all of them.
func (r *rewriter) cut(f form, axis int, over domain.MeshAxis) form {
	at := slices.IndexFunc(f.dims, hasElements(axis))
	block := dim{axis: axis, ranks: over.Name, whole: true, Extent: over.Extent}
	inside := dim{axis: axis, Extent: f.dims[at].Over(over.Extent)}
	dims := slices.Replace(slices.Clone(f.dims), at, at+1, block, inside)
	if inside.Size == 1 {
		dims = slices.Delete(dims, at+1, at+2)
	}
	return r.reshaped(f, dims)
}

// joined merges blocks of an axis, of which each rank has all, with the elements inside of them.
func (r *rewriter) joined(f form, axis int) form {
	dims, at := slices.Clone(f.dims), slices.IndexFunc(f.dims, func(d dim) bool { return d.axis == axis && d.whole })
	block := dims[at]
	inside := slices.IndexFunc(dims, hasElements(axis))
	size := r.of.Axes[axis].Extent
	for _, d := range dims {
		if d.axis == axis && d.split() {
			size = size.Over(d.Extent)
		}
	}
	if inside >= 0 {
		dims = slices.Delete(dims, at, at+1)
		inside = slices.IndexFunc(dims, hasElements(axis))
		f = r.arranged(f, slices.Insert(slices.Clone(dims), inside, block))
		dims[inside].Extent = size
	} else {
		dims[at] = dim{axis: axis, Extent: size}
	}
	return r.reshaped(f, dims)
}

// renumbered replaces the axis numbers of dims by the numbers in row, a row of hostir.AxisMap. Summands stay.
func renumbered(dims []dim, row []int) []dim {
	list := slices.Clone(dims)
	for i, d := range list {
		if d.axis >= 0 {
			list[i].axis = row[d.axis]
		}
	}
	return list
}
