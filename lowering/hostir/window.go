package hostir

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// Window is the part of a buffer that a tensor refers to on one rank, in elements: an offset, and a size and a stride for each
// logical axis of the tensor.
type Window struct {
	Buffer       *Tensor
	Offset       int64
	Size, Stride []int64
	// Whole says that no strides describe the axes. The window is then one run of memory that contains all elements of the
	// tensor, and maybe more.
	Whole bool
}

// BufferWindow returns the window of a tensor with separate memory. Its strides follow the tensor's layout.
func BufferWindow(t *Tensor) Window {
	w := Window{Buffer: t, Size: make([]int64, len(t.Axes)), Stride: make([]int64, len(t.Axes))}
	step := int64(1)
	for i := len(t.Axes) - 1; i >= 0; i-- {
		axis := i
		if t.Layout != nil {
			axis = t.Layout[i]
		}
		w.Size[axis], w.Stride[axis] = t.Axes[axis].LocalSize(), step
		step *= w.Size[axis]
	}
	return w
}

// WindowOf returns the window of a tensor. eval evaluates the expressions of views. An error of eval, or an index of a Select that
// is out of range, is an error.
func WindowOf(t *Tensor, eval func(expr.Expr) (int64, error)) (Window, error) {
	switch s := t.Of.(type) {
	case nil:
		return BufferWindow(t), nil
	case *Either:
		holds, err := eval(s.Cond)
		if err != nil {
			return Window{}, err
		}
		if holds != 0 {
			return WindowOf(s.Then, eval)
		}
		return WindowOf(s.Else, eval)
	case *Select:
		in, err := WindowOf(s.In, eval)
		if err != nil {
			return in, err
		}
		index, err := eval(s.Index)
		if err == nil && (s.Axis >= len(s.In.Axes) || index < 0 || index >= s.Indices()) {
			err = fmt.Errorf("index %d is outside of axis %d of %s", index, s.Axis, s.In.Name)
		}
		if err != nil {
			return in, err
		}
		return in.selected(s, index), nil
	default:
		in, err := WindowOf(Uses(s)[0], eval)
		return in.Aliased(s), err
	}
}

// selected returns the window of a Select of w, at an index. If w is Whole or lacks the axis, it returns w.
func (w Window) selected(s *Select, index int64) Window {
	if w.Whole || s.Axis >= len(w.Size) {
		return w
	}
	out := Window{Buffer: w.Buffer, Offset: w.Offset}
	if s.Parts == 0 {
		out.Offset += index * w.Stride[s.Axis]
		out.Size = lists.Without(w.Size, s.Axis)
		out.Stride = lists.Without(w.Stride, s.Axis)
		return out
	}
	out.Size, out.Stride = slices.Clone(w.Size), slices.Clone(w.Stride)
	out.Size[s.Axis] /= s.Parts
	out.Offset += index * out.Size[s.Axis] * out.Stride[s.Axis]
	return out.listing(s.In, s.Out)
}

// listing returns w, the window of a part of from, with the reduced axes that part lists and from does not.
func (w Window) listing(from, part *Tensor) Window {
	live := Live(from)
	if len(from.Axes) == len(part.Axes) || len(live) != len(Live(part)) {
		return w
	}
	wide := BufferWindow(part)
	wide.Buffer, wide.Offset = w.Buffer, w.Offset
	for i, axis := range Live(part) {
		wide.Size[axis], wide.Stride[axis] = w.Size[live[i]], w.Stride[live[i]]
	}
	return wide
}

// Aliased returns the window of the view that a Reshape, Broadcast, Permute or Slice makes of w. It is Whole if w is Whole, or if
// no strides describe the result of a Reshape.
func (w Window) Aliased(s Stmt) Window {
	if w.Whole {
		return w
	}
	out := BufferWindow(Result(s))
	out.Buffer, out.Offset = w.Buffer, w.Offset
	for _, cut := range Ranges(s) {
		out.Offset += cut.From * w.Stride[cut.InAxis]
		out.Stride[cut.OutAxis] = w.Stride[cut.InAxis]
	}
	if !Is[*Reshape](s) {
		for i, j := range AxisMap(s)[0] {
			if j != Unmapped {
				out.Stride[j] = w.Stride[i]
			}
		}
		return out
	}
	if w.Dense() && w.RowMajor() || out.follow(w) {
		return out
	}
	low, high := w.Bounds()
	return Window{Buffer: w.Buffer, Offset: low, Size: []int64{high - low}, Stride: []int64{1}, Whole: true}
}

// Elements returns the number of elements.
func (w Window) Elements() int64 {
	n := int64(1)
	for _, size := range w.Size {
		n *= size
	}
	return n
}

// Bounds returns the smallest range that contains all elements: the first index, and the one after the last.
func (w Window) Bounds() (low, high int64) {
	last := w.Offset
	for i, size := range w.Size {
		last += (size - 1) * w.Stride[i]
	}
	return w.Offset, last + 1
}

// Dense reports whether the window is one run of memory, with its axes in any order.
func (w Window) Dense() bool {
	low, high := w.Bounds()
	axes := w.longAxes()
	slices.SortFunc(axes, func(a, b int) int { return int(w.Stride[a] - w.Stride[b]) })
	step := int64(1)
	for _, a := range axes {
		if w.Stride[a] != step {
			return false
		}
		step *= w.Size[a]
	}
	return high-low == step
}

// RowMajor reports whether no axis has a larger stride than an axis outside of it. It ignores axes of one element.
func (w Window) RowMajor() bool {
	last := int64(-1)
	for _, i := range w.longAxes() {
		if last >= 0 && w.Stride[i] > last {
			return false
		}
		last = w.Stride[i]
	}
	return true
}

// longAxes lists the axes with more than one element.
func (w Window) longAxes() []int {
	var axes []int
	for i, size := range w.Size {
		if size > 1 {
			axes = append(axes, i)
		}
	}
	return axes
}

// follow sets the strides of w so that it addresses the elements of in, in logical order. It reports whether such
// strides exist.
func (w Window) follow(in Window) bool {
	mine, other := w.longAxes(), in.longAxes()
	groups, ok := Regrouped(at(w.Size, mine), at(in.Size, other))
	for _, g := range groups {
		for k := 1; k < g.In; k++ { // joined axes have to be contiguous
			ok = ok && in.Stride[other[k-1]] == in.Stride[other[k]]*in.Size[other[k]]
		}
		step := in.Stride[other[g.In-1]]
		for _, axis := range slices.Backward(mine[:g.Out]) {
			w.Stride[axis] = step
			step *= w.Size[axis]
		}
		mine, other = mine[g.Out:], other[g.In:]
	}
	return ok
}

// at returns the elements at the given indices.
func at(elements []int64, places []int) []int64 {
	return lists.Map(places, func(place int) int64 { return elements[place] })
}

// Joined is the size of a group of adjacent axes of a reshape: Out axes of the result have the same elements as In axes of the
// operand.
type Joined struct{ Out, In int }

// Regrouped divides the axes of a reshape, all with more than one element, into the smallest groups with the same elements. ok is
// false if the numbers of elements differ.
func Regrouped(out, in []int64) (groups []Joined, ok bool) {
	for len(out) > 0 && len(in) > 0 {
		i, j := 1, 1
		for a, b := out[0], in[0]; a != b; {
			switch {
			case a < b && i < len(out):
				a *= out[i]
				i++
			case a > b && j < len(in):
				b *= in[j]
				j++
			default:
				return groups, false
			}
		}
		groups = append(groups, Joined{i, j})
		out, in = out[i:], in[j:]
	}
	return groups, len(out) == len(in)
}
