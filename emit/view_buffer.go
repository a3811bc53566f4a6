package emit

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A dim is one axis of a buffer: how many elements, and how far apart they are.
type dim struct {
	axis           int // logical axis of the tensor
	extent, stride quantity
}

// A buffer is memory that a tensor names in the emitted program.
type buffer struct {
	tensor *hostir.Tensor
	root   *hostir.Tensor // the tensor that owns the memory
	name   string         // C++ pointer to its first element
	dims   []dim          // live axes in the logical order
	typ    cppType
	input  bool      // the caller's, read only
	memory string    // C++ pointer to the start of the memory of root
	at     expr.Expr // where this view starts in it, in elements; nil at the start
}

// newBuffer lays out a tensor that owns its memory.
func (b *builder) newBuffer(t *hostir.Tensor, name string) *buffer {
	buf := &buffer{tensor: t, root: t, name: name, typ: cppTypes[t.DType], input: t.Role == hostir.Input, memory: name}
	for _, axis := range hostir.Live(t) {
		buf.dims = append(buf.dims, dim{axis: axis, extent: b.scope.local(t.Axes[axis])})
	}
	stride := number(1)
	for _, i := range slices.Backward(buf.layout()) {
		buf.dims[i].stride = stride
		stride = times(buf.dims[i].extent, stride)
	}
	return buf
}

// layout lists the indices of dims from outermost to innermost.
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

// elements is the number of elements of the view.
func (u *buffer) elements() quantity {
	count := number(1)
	for _, d := range u.dims {
		count = times(count, d.extent)
	}
	return count
}

// contiguous reports whether the view is one run of memory.
func (u *buffer) contiguous() bool { return rowMajor(byStride(u.dims)) }

// byStride sorts axes from the largest stride to the smallest.
func byStride(dims []dim) []dim {
	sorted := slices.Clone(dims)
	slices.SortStableFunc(sorted, func(x, y dim) int {
		switch {
		case x.stride.size > y.stride.size:
			return -1
		case x.stride.size < y.stride.size:
			return 1
		default:
			return 0
		}
	})
	return sorted
}

// rowMajor reports whether dims, in this order, are dense with the last one innermost.
func rowMajor(dims []dim) bool {
	want := int64(1)
	for _, d := range slices.Backward(dims) {
		if d.extent.isOne() {
			continue
		}
		if d.stride.size != want {
			return false
		}
		want = mustMultiply(want, d.extent.size)
	}
	return true
}

// extentOf multiplies the extents of dims.
func extentOf(dims []dim) quantity {
	product := number(1)
	for _, d := range dims {
		product = times(product, d.extent)
	}
	return product
}

// shape prints one rank's extents: "[D, M / (S * D), K]".
func (u *buffer) shape() string {
	parts := make([]string, len(u.dims))
	for i, d := range u.dims {
		parts[i] = d.extent.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// sameShape reports whether the live axes of t have the extents of dims on one rank.
func sameShape(t *hostir.Tensor, dims []dim) bool {
	shape := hostir.LocalShape(t)
	return slices.EqualFunc(shape, dims, func(n int64, d dim) bool { return n == d.extent.size })
}

// as lays the axes of out over dims of this buffer: out is a view of it.
func (u *buffer) as(out *hostir.Tensor, name string, dims []dim) *buffer {
	view := &buffer{
		tensor: out, root: u.root, name: name, typ: u.typ, input: u.input, memory: u.memory, at: u.at,
		dims: slices.Clone(dims),
	}
	for i, axis := range hostir.Live(out) {
		view.dims[i].axis = axis
	}
	return view
}

// globalAxes are the initialisers of a tensor's axes over all ranks.
func (b *builder) globalAxes(t *hostir.Tensor) []string {
	var axes []string
	for _, i := range hostir.Live(t) {
		a := t.Axes[i]
		switch a.Kind {
		case domain.Device:
			extent := b.scope.extent(a.Extent).String()
			axes = append(axes, braces(extent, extent, b.coordinate(t.Mesh, a.Mesh)))
		case domain.Broadcast:
			axes = append(axes, braces("1"))
		default:
			axes = append(axes, braces(b.scope.extent(a.Extent).String()))
		}
	}
	return axes
}

// braces prints an initialiser list.
func braces(items ...string) string { return "{" + strings.Join(items, ", ") + "}" }
