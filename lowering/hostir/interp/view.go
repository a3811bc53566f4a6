package interp

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// view is a window of a buffer: one rank's part of a tensor.
type view struct {
	data []float64
	hostir.Window
}

// newBuffer makes the buffer of t, full of NaN.
func newBuffer(t *hostir.Tensor) *view {
	v := &view{Window: hostir.BufferWindow(t)}
	v.data = make([]float64, v.Elements())
	v.spoil()
	return v
}

// newBuffer makes the buffer of t on this rank. It is full of NaN at the start of each run.
func (r *rank) newBuffer(t *hostir.Tensor) *view {
	v := newBuffer(t)
	r.machine.buffers = append(r.machine.buffers, v)
	return v
}

// spoil overwrites the whole window with NaN.
func (v *view) spoil() { v.each(func(at int64) { v.data[at] = nan }) }

// each visits the elements in logical row-major order.
func (v *view) each(visit func(at int64)) {
	walk(v.Size, [][]int64{v.Stride}, []int64{v.Offset}, func(at []int64) { visit(at[0]) })
}

// read returns a copy of the elements in logical row-major order.
func (v *view) read() *Array {
	a := &Array{Shape: slices.Clone(v.Size), Data: make([]float64, 0, v.Elements())}
	v.each(func(at int64) { a.Data = append(a.Data, v.data[at]) })
	return a
}

// from returns the view of size elements along an axis, starting at index start.
func (v *view) from(axis int, start, size int64) *view {
	p := &view{data: v.data, Window: v.Window}
	p.Offset += start * v.Stride[axis]
	p.Size = slices.Clone(v.Size)
	p.Size[axis] = size
	return p
}

// contiguous returns the window as one run of memory; false if it has gaps.
func (v *view) contiguous() ([]float64, bool) {
	if !v.Dense() {
		return nil, false
	}
	low, high := v.Bounds()
	return v.data[low:high], true
}

// walk visits every index of a shape in row-major order. at[k] is the offset of the index with strides[k]; start[k] is
// the offset of index 0.
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
