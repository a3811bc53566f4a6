package fromhost

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A dim is one axis of a buffer: its number of elements, and the distance between adjacent ones in elements.
type dim struct {
	axis           int // logical axis of the tensor
	extent, stride extents.Quantity
}

// A buffer is the memory of a tensor, with the layout of the tensor in it.
type buffer struct {
	tensor *hostir.Tensor
	root   *hostir.Tensor // the tensor that owns the memory
	name   string         // the declared pointer to it; empty: none, and calls use an offset from base
	dims   []dim          // live axes in the logical order
	typ    domain.DType
	input  bool      // it is memory of the caller that the program only reads
	base   string    // the argument, buffer or declared pointer that contains it
	at     expr.Expr // its start in base, in elements; nil: 0
	known  bool      // whether it is the same memory on all paths: no Either chooses it
}

// pointer returns a pointer to the start of a buffer.
func (b *builder) pointer(u *buffer) calls.Pointer {
	if u.name != "" {
		return calls.Pointer{Base: u.name}
	}
	return b.place(u)
}

// place returns a pointer to the start of a buffer, as an offset from its base.
func (b *builder) place(u *buffer) calls.Pointer {
	if u.at == nil {
		return calls.Pointer{Base: u.base}
	}
	return calls.Pointer{Base: u.base, Offset: b.spelled(u.at)}
}

// newBuffer lays out a tensor densely, in the order of its Layout, from the start of the memory with the given name.
func (b *builder) newBuffer(t *hostir.Tensor, name string) *buffer {
	buf := &buffer{tensor: t, root: t, typ: t.DType, input: t.Role == hostir.Input, base: name, known: true}
	for _, axis := range hostir.Live(t) {
		buf.dims = append(buf.dims, dim{axis: axis, extent: b.scope.Local(t.Axes[axis])})
	}
	stride := extents.Number(1)
	for _, i := range slices.Backward(buf.layout()) {
		buf.dims[i].stride = stride
		stride = extents.Times(buf.dims[i].extent, stride)
	}
	return buf
}

// layout lists the indices in dims from the outermost axis in memory to the innermost.
func (u *buffer) layout() []int {
	order := make([]int, 0, len(u.dims))
	if u.tensor.Layout == nil {
		for i := range u.dims {
			order = append(order, i)
		}
		return order
	}
	for _, axis := range u.tensor.Layout {
		if i := slices.IndexFunc(u.dims, func(d dim) bool { return d.axis == axis }); i >= 0 {
			order = append(order, i)
		}
	}
	return order
}

// elements returns the number of elements of a buffer on one rank.
func (u *buffer) elements() extents.Quantity {
	count := extents.Number(1)
	for _, d := range u.dims {
		count = extents.Times(count, d.extent)
	}
	return count
}

// contiguous reports whether a buffer has no gaps in memory. Its axes may be in any order.
func (u *buffer) contiguous() bool { return rowMajor(byStride(u.dims)) }

// byStride sorts axes from the largest stride to the smallest.
func byStride(dims []dim) []dim {
	sorted := slices.Clone(dims)
	slices.SortStableFunc(sorted, func(x, y dim) int { return cmp.Compare(y.stride.Size, x.stride.Size) })
	return sorted
}

// rowMajor reports whether dims are dense in memory in the given order, with the last one innermost.
func rowMajor(dims []dim) bool {
	want := int64(1)
	for _, d := range slices.Backward(dims) {
		if d.extent.IsOne() {
			continue
		}
		if d.stride.Size != want {
			return false
		}
		want = extents.MustMultiply(want, d.extent.Size)
	}
	return true
}

// shape lists one rank's extents in the order in which the axes are in memory: the order of the tensor's Layout if the
// buffer is dense in it. Otherwise axes of one element keep their positions in the list, and no other axis moves past
// them.
func (u *buffer) shape() []expr.Expr {
	list := lists.Map(u.layout(), func(i int) dim { return u.dims[i] })
	if len(list) != len(u.dims) || !rowMajor(list) {
		list = slices.Clone(u.dims)
	}
	for i := range list {
		for j := i; j > 0 && list[j].extent.Size > 1 && list[j-1].extent.Size > 1 && list[j-1].stride.Size < list[j].stride.Size; j-- {
			list[j-1], list[j] = list[j], list[j-1]
		}
	}
	return lists.Map(list, func(d dim) expr.Expr { return d.extent.Expr })
}

// sameShape reports whether the live axes of t have the extents of dims on one rank.
func sameShape(t *hostir.Tensor, dims []dim) bool {
	shape := hostir.LocalShape(t)
	return slices.EqualFunc(shape, dims, func(n int64, d dim) bool { return n == d.extent.Size })
}

// as returns a view of this buffer as the tensor out. dims has the extents and strides of out's live axes.
func (u *buffer) as(out *hostir.Tensor, dims []dim) *buffer {
	view := *u
	view.tensor, view.dims = out, slices.Clone(dims)
	for i, axis := range hostir.Live(out) {
		view.dims[i].axis = axis
	}
	return &view
}
