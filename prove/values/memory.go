package values

import (
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/prove/unroll"
)

// cells is one allocation of a rank, with a number for each element. If buffers of several types share it, an element of a larger
// type uses the first of its cells, and the others are unused.
type cells struct {
	data   []float64
	writer []int32 // the last statement that wrote each cell; -1: none
	size   int64   // bytes per cell: the size of the smallest elements there
}

const (
	nobody  = -1
	nothing = 0x5ca1ab1e // value of the cells of an element after its first one
)

// newCells makes cells that contain random numbers until they are written.
func (f *field) newCells(rank, memory, bytes, size int64) *cells {
	c := &cells{make([]float64, bytes/size), make([]int32, bytes/size), size}
	f.randoms(c.data, "nothing", uint64(rank), uint64(memory))
	for i := range c.writer {
		c.writer[i] = nobody
	}
	return c
}

// elementsOf counts the elements of a memory; 0 for workspaces and counters, which have no elements.
func elementsOf(d issue.Memory) int64 {
	if d.Type == "" {
		return 0
	}
	return d.Bytes / domain.DType(d.Type).Size()
}

// cellSizes returns the size of each memory's cells; 0 for memories without elements.
func cellSizes(p *unroll.Program) []int64 {
	sizes := make([]int64, len(p.Memories))
	for n, d := range p.Memories {
		if d.Type != "" {
			sizes[n] = domain.DType(d.Type).Size()
		}
	}
	for r := range p.Ranks {
		for _, a := range p.Ranks[r].Accesses {
			sizes[a.Memory] = min(sizes[a.Memory], p.Layouts[a.Layout].Size)
		}
	}
	return sizes
}

// view is an operand: element [i, j] is data[at + (i*strides[0] + j*strides[1])*width].
type view struct {
	*cells
	at, width        int64 // the first element's cell, and how many cells an element has
	extents, strides []int64
}

// operands are the views of an operation, by operand number.
type operands map[int16]view

// view returns the view of an access.
func (m *machine) view(a unroll.Access) view {
	l := m.p.Layouts[a.Layout]
	c := m.memory[a.Owner][a.Memory]
	return view{c, a.Offset / c.size, l.Size / c.size, l.Extents, l.Strides}
}

// each visits the cells of the elements, row-major.
func (v view) each(visit func(at int64)) {
	v.runs(func(_, at, count, apart int64) {
		for i := range count {
			visit(at + i*apart)
		}
	})
}

// runs visits the elements in runs along the last axis, row-major. visit gets the number of the run's first element, its cell,
// the number of elements and the distance between their cells.
func (v view) runs(visit func(first, at, count, apart int64)) {
	last := len(v.extents) - 1
	index := make([]int64, last)
	at, count, apart := v.at, v.extents[last], v.strides[last]*v.width
	for first := int64(0); ; first += count {
		visit(first, at, count, apart)
		axis := last - 1
		for ; axis >= 0; axis-- {
			index[axis]++
			at += v.strides[axis] * v.width
			if index[axis] < v.extents[axis] {
				break
			}
			at -= index[axis] * v.strides[axis] * v.width
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

// elements returns the number of elements.
func (v view) elements() int64 {
	n := int64(1)
	for _, extent := range v.extents {
		n *= extent
	}
	return n
}

// read copies the elements, row-major.
func (v view) read() []float64 {
	list := make([]float64, v.elements())
	v.runs(func(first, at, count, apart int64) {
		if apart == 1 {
			copy(list[first:first+count], v.data[at:])
			return
		}
		for i := range count {
			list[first+i] = v.data[at+i*apart]
		}
	})
	return list
}

// write replaces the elements, and records the statement that writes them.
func (v view) write(list []float64, by int32) {
	v.runs(func(first, at, count, apart int64) {
		for i := range count {
			to := at + i*apart
			v.data[to], v.writer[to] = list[first+i], by
			for rest := to + 1; rest < to+v.width; rest++ { // a read of smaller elements gets a value that no input has
				v.data[rest], v.writer[rest] = nothing, by
			}
		}
	})
}

// like returns the view with other extents. An axis of stride 0 repeats its element.
func (v view) like(extents []int64) view {
	v.extents = extents
	return v
}
