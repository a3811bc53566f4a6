package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// Live lists the logical axes of t that its buffer has: all except reduced ones.
func Live(t *Tensor) []int {
	live := make([]int, 0, len(t.Axes))
	for i, a := range t.Axes {
		if a.Kind != domain.Reduction {
			live = append(live, i)
		}
	}
	return live
}

// LocalShape returns the shape of t's buffer on one rank, without reduced axes, in logical order.
func LocalShape(t *Tensor) []int64 {
	shape := make([]int64, 0, len(t.Axes))
	for _, i := range Live(t) {
		shape = append(shape, t.Axes[i].LocalSize())
	}
	return shape
}

// LocalElements returns the number of elements in the buffer of t on one rank.
func LocalElements(t *Tensor) int64 {
	n := int64(1)
	for _, extent := range LocalShape(t) {
		n *= extent
	}
	return n
}

// Layout returns t's layout, which is the logical order if t has none.
func Layout(t *Tensor) []int {
	if t.Layout != nil {
		return t.Layout
	}
	return lists.Numbers(len(t.Axes))
}

// LayoutIn returns the layout of an operand in the axes of a result, given the operand's row of the AxisMap. It leaves out axes that the
// result lacks.
func LayoutIn(t *Tensor, row []int) (list []int) {
	for _, i := range Layout(t) {
		if row[i] != Unmapped {
			list = append(list, row[i])
		}
	}
	return list
}

// SameLayout reports whether the buffers of two tensors on one rank have the same memory layout: the same element type,
// and axes of equal local extents in the same order.
func SameLayout(a, b *Tensor) bool {
	return a.DType == b.DType && slices.Equal(buffer(a), buffer(b))
}

// SameAxes reports whether two tensors have the same axes, of the same kinds, ignoring reduced axes. An axis of one element may
// be serial in one and broadcast in the other.
func SameAxes(a, b *Tensor) bool {
	same := func(i, j int) bool {
		x, y := a.Axes[i], b.Axes[j]
		alike := x.Kind == y.Kind || x.Size == 1 && plain(x) && plain(y)
		return x.Size == y.Size && alike && x.Mesh == y.Mesh
	}
	return slices.EqualFunc(Live(a), Live(b), same)
}

// plain reports whether an axis is neither split over ranks, nor sliced by a pipeline, nor reduced.
func plain(a domain.Axis) bool { return a.Kind == domain.Serial || a.Kind == domain.Broadcast }

// buffer lists the extents of a rank's buffer of t, outermost first, each with its index among the live axes.
func buffer(t *Tensor) [][2]int64 {
	live := Live(t)
	var list [][2]int64
	for _, axis := range Layout(t) {
		if i := slices.Index(live, axis); i >= 0 {
			list = append(list, [2]int64{int64(i), t.Axes[axis].LocalSize()})
		}
	}
	return list
}

// SplitAxis returns the first axis of t that is split over the given mesh axis, or Unmapped.
func SplitAxis(t *Tensor, meshAxis string) int {
	for i, a := range t.Axes {
		if a.Kind == domain.Device && a.Mesh == meshAxis {
			return i
		}
	}
	return Unmapped
}

// SplitOver returns the mesh axis that an axis is split over, or "".
func SplitOver(a domain.Axis) string {
	if a.Kind == domain.Device {
		return a.Mesh
	}
	return ""
}

// DropAxis removes an axis from a layout and renumbers the others. A negative axis removes nothing.
func DropAxis(layout []int, axis int) []int {
	list := make([]int, 0, len(layout))
	for _, a := range layout {
		switch {
		case a < axis || axis < 0:
			list = append(list, a)
		case a > axis:
			list = append(list, a-1)
		}
	}
	return list
}

// Outside returns the outermost axis of more than one local element that is outside of axis in t's buffer, or -1. With such an
// axis a slice along axis is not contiguous. It returns -1 if axis has one local element.
func Outside(t *Tensor, axis int) int {
	if t.Axes[axis].LocalSize() == 1 {
		return -1
	}
	for _, a := range Layout(t) {
		if a == axis {
			break
		}
		if t.Axes[a].LocalSize() > 1 {
			return a
		}
	}
	return -1
}

// StreamAxis returns the first Stream axis of t, or -1.
func StreamAxis(t *Tensor) int {
	return slices.IndexFunc(t.Axes, func(a domain.Axis) bool { return a.Kind == domain.Stream })
}
