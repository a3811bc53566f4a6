package interp

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// view is a strided window on a buffer, over the logical axes of a tensor; what one
// rank holds of it.
type view struct {
	data         []float64
	offset       int64
	size, stride []int64
}

// newView lays out t's axes as its layout says, without a buffer.
func newView(t *hostir.Tensor) *view {
	v := &view{size: make([]int64, len(t.Axes)), stride: make([]int64, len(t.Axes))}
	step := int64(1)
	for _, axis := range slices.Backward(hostir.Layout(t)) {
		v.size[axis], v.stride[axis] = t.Axes[axis].LocalSize(), step
		step *= v.size[axis]
	}
	return v
}

// newBuffer makes the buffer of t, full of NaN.
func newBuffer(t *hostir.Tensor) *view {
	v := newView(t)
	v.data = make([]float64, v.elements())
	v.spoil()
	return v
}

func (v *view) elements() int64 {
	n := int64(1)
	for _, size := range v.size {
		n *= size
	}
	return n
}

// spoil overwrites the whole window with NaN.
func (v *view) spoil() { v.each(func(at int64) { v.data[at] = nan }) }

// each visits the elements in logical row-major order.
func (v *view) each(visit func(at int64)) {
	walk(v.size, [][]int64{v.stride}, []int64{v.offset}, func(at []int64) { visit(at[0]) })
}

// read copies the elements out, without axes that the buffer lacks.
func (v *view) read() *Array {
	a := &Array{Shape: slices.Clone(v.size), Data: make([]float64, 0, v.elements())}
	v.each(func(at int64) { a.Data = append(a.Data, v.data[at]) })
	return a
}

// slice fixes an axis.
func (v *view) slice(axis int, index int64) *view {
	return &view{
		data: v.data, offset: v.offset + index*v.stride[axis],
		size:   slices.Delete(slices.Clone(v.size), axis, axis+1),
		stride: slices.Delete(slices.Clone(v.stride), axis, axis+1),
	}
}

// part keeps one of equal parts of an axis.
func (v *view) part(axis int, index, parts int64) *view {
	size := v.size[axis] / parts
	return v.from(axis, index*size, size)
}

// from keeps so many elements of an axis.
func (v *view) from(axis int, start, size int64) *view {
	p := &view{data: v.data, offset: v.offset + start*v.stride[axis], size: slices.Clone(v.size), stride: slices.Clone(v.stride)}
	p.size[axis] = size
	return p
}

// listing adds the reduced axes that a part of a tensor lists and the tensor does not.
func (v *view) listing(whole, part *hostir.Tensor) *view {
	live := hostir.Live(whole)
	if len(whole.Axes) == len(part.Axes) || len(live) != len(hostir.Live(part)) {
		return v
	}
	wide := newView(part)
	wide.data, wide.offset = v.data, v.offset
	for i, axis := range hostir.Live(part) {
		wide.size[axis], wide.stride[axis] = v.size[live[i]], v.stride[live[i]]
	}
	return wide
}

// contiguous gives the window as one piece of memory, if it is.
func (v *view) contiguous() ([]float64, bool) {
	axes := make([]int, 0, len(v.size))
	for i, size := range v.size {
		if size > 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(a, b int) int { return int(v.stride[a] - v.stride[b]) })
	step := int64(1)
	for _, a := range axes {
		if v.stride[a] != step {
			return nil, false
		}
		step *= v.size[a]
	}
	return v.data[v.offset : v.offset+step], true
}

// rowMajor reports whether outer axes have the larger strides.
func (v *view) rowMajor() bool {
	last := int64(-1)
	for i, size := range v.size {
		if size == 1 {
			continue
		}
		if last >= 0 && v.stride[i] > last {
			return false
		}
		last = v.stride[i]
	}
	return true
}

// follow gives a view the strides by which it has the elements of in, in their logical order. It
// reports whether there are such strides.
func (v *view) follow(in *view) bool {
	mine, other := v.longAxes(), in.longAxes()
	for len(mine) > 0 && len(other) > 0 {
		i, j := 1, 1
		for a, b := v.size[mine[0]], in.size[other[0]]; a != b; {
			if a < b {
				a *= v.size[mine[i]]
				i++
			} else {
				b *= in.size[other[j]]
				j++
			}
		}
		for k := 1; k < j; k++ { // axes that are joined have to be in one run
			if in.stride[other[k-1]] != in.stride[other[k]]*in.size[other[k]] {
				return false
			}
		}
		step := in.stride[other[j-1]]
		for _, axis := range slices.Backward(mine[:i]) {
			v.stride[axis] = step
			step *= v.size[axis]
		}
		mine, other = mine[i:], other[j:]
	}
	return len(mine) == len(other)
}

// longAxes lists the axes of more than one element.
func (v *view) longAxes() []int {
	var axes []int
	for i, size := range v.size {
		if size > 1 {
			axes = append(axes, i)
		}
	}
	return axes
}

// walk visits every index of a shape in row-major order with the offsets that several
// sets of strides give.
func walk(size []int64, strides [][]int64, start []int64, visit func(at []int64)) {
	index, at := make([]int64, len(size)), slices.Clone(start)
	for {
		visit(at)
		axis := len(size) - 1
		for ; axis >= 0; axis-- {
			index[axis]++
			for k := range at {
				at[k] += strides[k][axis]
			}
			if index[axis] < size[axis] {
				break
			}
			for k := range at {
				at[k] -= index[axis] * strides[k][axis]
			}
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}
