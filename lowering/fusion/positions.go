package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// counted describes a tensor whose elements are their positions along an axis. name is the name of the positions, and
// back is the number of the axis, counted from the last axis, which is 0.
type counted struct {
	name string
	back int
}

// findPositions finds the tensors of positions that kernels can count themselves. The positions run along a serial axis
// of several elements. Broadcasts keep them, and so do reshapes that only add axes of one element.
func (f *fuser) findPositions() {
	axes := map[*hostir.Tensor]int{}
	f.counts = map[*hostir.Tensor]counted{}
	for _, s := range f.program.Body {
		out := hostir.Result(s)
		switch s := s.(type) {
		case *hostir.Positions:
			if len(out.Axes) != 1 || out.Axes[0].Kind != domain.Serial || out.Axes[0].LocalSize() == 1 {
				continue
			}
			axes[out], f.counts[out] = 0, counted{name: out.Name}
		case *hostir.Reshape:
			if from, ok := f.counts[s.In]; ok {
				if at, live := onlyAxis(out), hostir.Live(out); at >= 0 {
					axes[out], f.counts[out] = at, counted{from.name, len(live) - 1 - slices.Index(live, at)}
				}
			}
		case *hostir.Broadcast:
			from, ok := f.counts[s.In]
			if !ok {
				continue
			}
			axes[out] = hostir.AxisMap(s)[0][axes[s.In]]
			live := hostir.Live(out)
			f.counts[out] = counted{from.name, len(live) - 1 - slices.Index(live, axes[out])}
		}
	}
}

// onlyAxis returns the only live axis of several elements, if there is exactly one and it is serial; -1 otherwise.
func onlyAxis(t *hostir.Tensor) int {
	only := -1
	for _, at := range hostir.Live(t) {
		if a := t.Axes[at]; a.Size == 1 {
			continue
		} else if only >= 0 || a.Kind != domain.Serial {
			return -1
		}
		only = at
	}
	return only
}

// mayCount reports whether a kernel may count positions. No pipeline may cut its result. If the result lacks the columns, one
// operand must have as many axes as the tensor of the kernel with the most axes, and one must have several columns. The reason
// is that hostir.Fused finds both numbers in its operands.
func (f *fuser) mayCount(g *kernelGroup) bool {
	out := hostir.Result(g.result())
	if hostir.StreamAxis(out) >= 0 {
		return false
	}
	made := map[*hostir.Tensor]bool{}
	all, most, wide := 0, 0, false
	for _, s := range g.members {
		made[hostir.Result(s)] = true
		for _, t := range hostir.Uses(s) {
			live := hostir.Live(t)
			all = max(all, len(live))
			if _, counts := f.counts[t]; !counts && !made[t] && len(live) > 0 {
				most, wide = max(most, len(live)), wide || t.Axes[live[len(live)-1]].LocalSize() > 1
			}
		}
	}
	return !g.folded[out] || wide && most == all
}

// unread removes positions and casts that no statement reads and that are not outputs, with reshapes and broadcasts of
// positions: kernels count positions themselves, and read the operands of casts. It adds the removed tensors to gone.
func (f *fuser) unread(body []hostir.Stmt, gone map[*hostir.Tensor]bool) []hostir.Stmt {
	read := map[*hostir.Tensor]bool{}
	var kept []hostir.Stmt
	for _, s := range slices.Backward(body) {
		out := hostir.Result(s)
		_, positions := f.counts[out]
		if (positions || hostir.Is[*hostir.Cast](s)) && !read[out] && out.Role != hostir.Output {
			gone[out] = true
			continue
		}
		lists.Mark(read, hostir.Uses(s))
		kept = append(kept, s)
	}
	slices.Reverse(kept)
	return kept
}
