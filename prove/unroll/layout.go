package unroll

import (
	"fmt"
	"slices"
)

// Layout describes where the elements of an operand are, relative to the first. Extents and strides count elements. They have the
// order of the operand's axes, outermost first: batch, m, k for the A of a GEMM. A stride may be 0.
type Layout struct {
	Size             int64 // bytes of an element
	Extents, Strides []int64
	Span             int64 // bytes from the first element to the end of the last one; 0: there are no elements
	axes             []axis
	run              int64 // length of a contiguous run of bytes, which axes repeat
}

// axis repeats a run of bytes, or an inner axis. The stride is in bytes. The axes of a layout are sorted by stride, smallest
// first.
type axis struct{ extent, stride int64 }

// newLayout makes a layout, and simplifies its axes for comparisons. It drops axes of extent 1 or stride 0, which do not change
// the set of bytes, and merges contiguous axes.
func newLayout(size int64, extents, strides []int64) *Layout {
	l := &Layout{Size: size, Extents: slices.Clone(extents), Strides: slices.Clone(strides), Span: size, run: size}
	for i, extent := range extents {
		if extent <= 0 {
			l.Span = 0
			return l
		}
		if extent > 1 && strides[i] != 0 {
			l.axes = append(l.axes, axis{extent, strides[i] * size})
			l.Span += (extent - 1) * strides[i] * size
		}
	}
	slices.SortFunc(l.axes, func(a, b axis) int { return int(min(max(a.stride-b.stride, -1), 1)) })
	for len(l.axes) > 0 && l.axes[0].stride == l.run {
		l.run *= l.axes[0].extent
		l.axes = l.axes[1:]
	}
	for i := 1; i < len(l.axes); i++ {
		if inner := &l.axes[i-1]; l.axes[i].stride == inner.stride*inner.extent {
			inner.extent *= l.axes[i].extent
			l.axes = slices.Delete(l.axes, i, i+1)
			i--
		}
	}
	return l
}

// Dense reports whether all axes merge into one run. Then the elements cover all bytes of the span.
func (l *Layout) Dense() bool { return len(l.axes) == 0 }

// Elements counts the elements. An address that occurs several times counts as often.
func (l *Layout) Elements() int64 {
	n := int64(1)
	for _, e := range l.Extents {
		n *= e
	}
	return n
}

// Repeats reports whether two elements have the same address or overlap, so that writing all elements writes a byte twice. It may
// also report true for axes that interleave without overlap.
func (l *Layout) Repeats() bool {
	for i, extent := range l.Extents {
		if extent > 1 && l.Strides[i] == 0 {
			return true
		}
	}
	inner := l.run
	for _, a := range l.axes {
		if a.stride < inner {
			return true
		}
		inner += (a.extent - 1) * a.stride
	}
	return false
}

// Same reports whether two layouts have the same elements in the same order.
func (l *Layout) Same(other *Layout) bool {
	return l.Size == other.Size && slices.Equal(l.Extents, other.Extents) && slices.Equal(l.Strides, other.Strides)
}

// Overlap reports whether two operands share a byte, where behind is the distance in bytes from the start of a to the
// start of b. at is the distance of a shared byte from the start of a. The result is exact.
func Overlap(a, b *Layout, behind int64) (at int64, ok bool) {
	if a.Span == 0 || b.Span == 0 {
		return 0, false
	}
	return box{a.run, a.axes}.meets(box{b.run, b.axes}, 0, behind)
}

// box is a run of bytes, repeated along axes.
type box struct {
	run  int64
	axes []axis
}

func (b box) span() int64 {
	n := b.run
	for _, a := range b.axes {
		n += (a.extent - 1) * a.stride
	}
	return n
}

// outer returns the stride of the outermost axis; 0: the box is one run.
func (b box) outer() int64 {
	if len(b.axes) == 0 {
		return 0
	}
	return b.axes[len(b.axes)-1].stride
}

// split removes the outermost axis if it has the given stride, and returns its extent. Otherwise it returns the box and extent 1.
func (b box) split(stride int64) (inner box, extent int64) {
	if b.outer() != stride {
		return b, 1
	}
	last := len(b.axes) - 1
	return box{b.run, b.axes[:last]}, b.axes[last].extent
}

// meets returns the first byte found that two boxes share, if there is one. The box starts at from, and the other one
// at to. If both have the same outermost stride, only the difference of their outer indices matters, and only few
// differences bring two parts close enough to overlap.
func (b box) meets(other box, from, to int64) (int64, bool) {
	mine, theirs := b.span(), other.span()
	if from+mine <= to || to+theirs <= from {
		return 0, false
	}
	stride := max(b.outer(), other.outer())
	if stride == 0 {
		return max(from, to), true
	}
	mineInner, n := b.split(stride)
	theirsInner, m := other.split(stride)
	// Part i of b meets part j of other: compare from + i*stride with to + j*stride, where k = j - i.
	low := ceilDiv(from-to-theirsInner.span()+1, stride)
	high := floorDiv(from-to+mineInner.span()-1, stride)
	for k := max(low, 1-n); k <= min(high, m-1); k++ {
		i := max(0, -k)
		if at, ok := mineInner.meets(theirsInner, from+i*stride, to+(i+k)*stride); ok {
			return at, true
		}
	}
	return 0, false
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

// String prints the extents of a layout, the size of an element, and the strides, in elements. Of a dense layout it prints only the
// number of elements and their size.
func (l *Layout) String() string {
	if l.Dense() {
		return fmt.Sprintf("%d x %d bytes", l.Elements(), l.Size)
	}
	return fmt.Sprintf("%v x %d bytes, strides %v", l.Extents, l.Size, l.Strides)
}
