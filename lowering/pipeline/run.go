package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// run is a contiguous range of a buffer: the elements low to high-1.
type run struct{ low, high int64 }

// mostRuns limits the runs of a window. A window with more runs counts as one run from its first to its last
// element. That can add edges that the elements do not require, but omits none.
const mostRuns = 256

// runs lists the elements of a window as runs, in ascending order.
func runs(w hostir.Window) []run {
	axes := make([]int, 0, len(w.Size))
	for i, size := range w.Size {
		if size > 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(a, b int) int { return int(w.Stride[a] - w.Stride[b]) })
	length := int64(1)
	for len(axes) > 0 && w.Stride[axes[0]] == length {
		length *= w.Size[axes[0]]
		axes = axes[1:]
	}
	count := int64(1)
	for _, a := range axes {
		if count *= w.Size[a]; count > mostRuns {
			low, high := w.Bounds()
			return []run{{low, high}}
		}
	}
	list := []run{{w.Offset, w.Offset + length}}
	for _, a := range axes {
		inner := list
		list = make([]run, 0, int64(len(inner))*w.Size[a])
		for i := range w.Size[a] {
			for _, r := range inner {
				list = append(list, run{r.low + i*w.Stride[a], r.high + i*w.Stride[a]})
			}
		}
	}
	return list
}
