package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// window is the part of a buffer that a tensor names on one rank, in elements: an offset, and
// for each logical axis of the tensor a size and a stride.
type window struct {
	buffer       *hostir.Tensor
	offset       int64
	size, stride []int64
	// whole says that the axes are not known: the window is then one run of memory that holds
	// all that the tensor names, and maybe more.
	whole bool
}

// bufferWindow is all of a tensor that has a buffer of its own.
func bufferWindow(t *hostir.Tensor) window {
	w := strided(t)
	w.buffer = t
	return w
}

// strided lays out the axes of a tensor as its layout says.
func strided(t *hostir.Tensor) window {
	w := window{size: make([]int64, len(t.Axes)), stride: make([]int64, len(t.Axes))}
	step := int64(1)
	for i := len(t.Axes) - 1; i >= 0; i-- {
		axis := i
		if t.Layout != nil {
			axis = t.Layout[i]
		}
		w.size[axis], w.stride[axis] = t.Axes[axis].LocalSize(), step
		step *= w.size[axis]
	}
	return w
}

// selected is the window that a Select makes of one, at an index.
func (w window) selected(s *hostir.Select, index int64) window {
	if w.whole || s.Axis >= len(w.size) {
		return w
	}
	out := window{buffer: w.buffer, offset: w.offset}
	if s.Parts == 0 {
		out.offset += index * w.stride[s.Axis]
		out.size = slices.Delete(slices.Clone(w.size), s.Axis, s.Axis+1)
		out.stride = slices.Delete(slices.Clone(w.stride), s.Axis, s.Axis+1)
		return out
	}
	out.size, out.stride = slices.Clone(w.size), slices.Clone(w.stride)
	out.size[s.Axis] /= s.Parts
	out.offset += index * out.size[s.Axis] * out.stride[s.Axis]
	return out.listing(s.In, s.Out)
}

// listing adds the reduced axes that a part of a tensor lists and the tensor does not.
func (w window) listing(from, part *hostir.Tensor) window {
	live := hostir.Live(from)
	if len(from.Axes) == len(part.Axes) || len(live) != len(hostir.Live(part)) {
		return w
	}
	wide := strided(part)
	wide.buffer, wide.offset = w.buffer, w.offset
	for i, axis := range hostir.Live(part) {
		wide.size[axis], wide.stride[axis] = w.size[live[i]], w.stride[live[i]]
	}
	return wide
}

// aliased is the window of a view that a Reshape, Broadcast, Permute or Slice makes of one.
func (w window) aliased(s hostir.Stmt) window {
	if w.whole {
		return w
	}
	out := strided(hostir.Result(s))
	out.buffer, out.offset = w.buffer, w.offset
	for _, cut := range hostir.Ranges(s) {
		out.offset += cut.From * w.stride[cut.InAxis]
		out.stride[cut.OutAxis] = w.stride[cut.InAxis]
	}
	if _, reshapes := s.(*hostir.Reshape); !reshapes {
		for i, j := range hostir.AxisMap(s)[0] {
			if j != hostir.Unmapped {
				out.stride[j] = w.stride[i]
			}
		}
		return out
	}
	if runs := w.runs(); len(runs) == 1 && w.rowMajor() {
		return out
	}
	low, high := w.bounds()
	return window{buffer: w.buffer, offset: low, size: []int64{high - low}, stride: []int64{1}, whole: true}
}

// rowMajor reports whether outer axes have the larger strides.
func (w window) rowMajor() bool {
	last := int64(-1)
	for i, size := range w.size {
		if size == 1 {
			continue
		}
		if last >= 0 && w.stride[i] > last {
			return false
		}
		last = w.stride[i]
	}
	return true
}

// run is a part of a buffer, from one element up to another one.
type run struct{ low, high int64 }

// mostRuns bounds the runs of a window: one in more pieces counts as all that lies between.
const mostRuns = 256

// runs are the elements of a window, in ascending order.
func (w window) runs() []run {
	axes := make([]int, 0, len(w.size))
	for i, size := range w.size {
		if size > 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(a, b int) int { return int(w.stride[a] - w.stride[b]) })
	length := int64(1)
	for len(axes) > 0 && w.stride[axes[0]] == length {
		length *= w.size[axes[0]]
		axes = axes[1:]
	}
	count := int64(1)
	for _, a := range axes {
		if count *= w.size[a]; count > mostRuns {
			low, high := w.bounds()
			return []run{{low, high}}
		}
	}
	list := []run{{w.offset, w.offset + length}}
	for _, a := range axes {
		inner := list
		list = make([]run, 0, int64(len(inner))*w.size[a])
		for i := range w.size[a] {
			for _, r := range inner {
				list = append(list, run{r.low + i*w.stride[a], r.high + i*w.stride[a]})
			}
		}
	}
	return list
}

// bounds is the least run that holds all elements.
func (w window) bounds() (low, high int64) {
	last := w.offset
	for i, size := range w.size {
		last += (size - 1) * w.stride[i]
	}
	return w.offset, last + 1
}
