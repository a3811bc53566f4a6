package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// mostMerged is the largest number of operations in a merged group. It bounds the registers of the kernel, and the time
// of a merge.
const mostMerged = 64

// merge merges two groups that read the same value, if one kernel can store the results of both. The kernel then
// computes the value once, and the value needs no memory. An example is the gradient of a norm's operand and the
// product that is summed to the gradient of the norm's weight. The kernel runs where the first of the two groups would
// run. The groups stay separate if an operand is known to be computed later. The method part later separates the groups
// whose kernel cannot run there.
func (f *fuser) merge(g, other *kernelGroup) {
	if g == nil || other == nil || f.alone[g.result()] || f.alone[other.result()] || len(g.members)+len(other.members) > mostMerged {
		return
	}
	first, last := g.result(), other.result()
	if f.place[first] > f.place[last] {
		first, last = last, first
	}
	_, concat := last.(*hostir.Concat)
	if functionOf(last) == "" && !f.rounds(last) { // last only changes the type or the shape, so the kernel has no step for it
		return
	}
	a, b := hostir.Result(first), hostir.Result(last)
	if concat || !f.stores(first) || g.folded[a] || other.folded[a] || g.folded[b] || other.folded[b] || g.otherColumns(other.columns) ||
		a.Mesh != b.Mesh || a.Role == hostir.View || !hostir.SameAxes(a, b) || !f.ready(min(g.place, other.place), g, other) {
		return
	}
	for _, s := range other.members {
		f.groups[s] = g
		g.folded[hostir.Result(s)] = other.folded[hostir.Result(s)]
		g.also[s] = other.also[s]
	}
	g.members = append(g.members, other.members...)
	slices.SortFunc(g.members, func(s, t hostir.Stmt) int { return f.place[s] - f.place[t] })
	g.also[first], g.also[last] = true, false
	g.place = min(g.place, other.place)
	if g.columns.Size <= 1 {
		g.columns = other.columns
	}
}

// mergeReaders merges the groups of statements that read a tensor element by element, if both groups can run at the
// place of the first. The kernel then reads the tensor once. An example is the gradient of a product of two
// functions: the gradients of both functions read it. Each group is only compared with the next one, so the time is
// linear in the number of readers.
func (f *fuser) mergeReaders(t *hostir.Tensor) {
	if made := f.maker[t]; made != nil && f.groups[made] != nil {
		return // merge has already considered it
	}
	var next *kernelGroup
	for _, r := range f.readers[t] { // from the last reader to the first
		g := f.groups[r]
		if g == nil || !elementwise(r) || !hostir.SameAxes(t, hostir.Result(r)) {
			continue
		}
		if next != nil && next != g {
			first, second := g, next
			if first.place > second.place {
				first, second = second, first
			}
			if f.ready(first.place, second) {
				f.merge(first, second)
			}
		}
		next = f.groups[r]
	}
}

// mergeTables merges groups that compute tables with the same axes. A table depends on positions alone. One kernel then
// stores several tables, such as cosines and sines.
func (f *fuser) mergeTables() {
	made := map[*hostir.Tensor]bool{}
	var tables []*kernelGroup
	for _, s := range f.program.Body {
		if !makesTable(s, made) {
			continue
		}
		lists.Mark(made, hostir.Defs(s))
		g := f.groups[s]
		if g == nil || s != g.result() {
			continue
		}
		for _, first := range tables {
			if f.ready(first.place, g) {
				f.merge(first, g)
			}
			if f.groups[s] == first {
				break
			}
		}
		if f.groups[s] == g {
			tables = append(tables, g)
		}
	}
}

// ready reports whether all operands of some groups are computed before a place in the program, or by these groups.
func (f *fuser) ready(place int, groups ...*kernelGroup) bool {
	late := func(t *hostir.Tensor) bool {
		made := f.maker[t]
		if made == nil || slices.Contains(groups, f.groups[made]) {
			return false
		}
		at := f.place[made]
		if other := f.groups[made]; other != nil {
			at = max(at, other.place)
		}
		return at >= place
	}
	return !slices.ContainsFunc(groups, func(g *kernelGroup) bool {
		return slices.ContainsFunc(g.members, func(s hostir.Stmt) bool { return slices.ContainsFunc(hostir.Uses(s), late) })
	})
}

// elementwise reports whether a statement computes each element of its result from one element of each operand. A Fused
// is always a dropout here, before kernels are made.
func elementwise(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Unary, *hostir.Binary, *hostir.Fused:
		return true
	default:
		return false
	}
}

// otherColumns reports whether c and the group's columns both have several elements, and differ in kind or size.
func (g *kernelGroup) otherColumns(c domain.Axis) bool {
	return c.Size > 1 && g.columns.Size > 1 && (c.Kind != g.columns.Kind || c.Size != g.columns.Size)
}

// part finds a merged group that would run before one of its operands is computed, or after a reader of its results. It
// marks the results of the group, so that their groups are not merged again. It reports whether it found such a group.
func (f *fuser) part() bool {
	for _, last := range f.program.Body {
		g := f.groups[last]
		if g == nil || last != g.result() || g.place == f.place[last] || f.fits(g) {
			continue
		}
		for _, s := range g.members {
			if g.also[s] {
				f.alone[s] = true
			}
		}
		f.alone[last] = true
		return true
	}
	return false
}

// fits reports whether a group runs after its operands are computed and before other statements read its results.
func (f *fuser) fits(g *kernelGroup) bool {
	if !f.ready(g.place+1, g) {
		return false
	}
	for _, s := range g.members {
		for _, r := range f.readers[hostir.Result(s)] {
			if f.groups[r] != g && f.place[r] < g.place {
				return false
			}
		}
	}
	return true
}

// foldNarrow makes reductions to fp32 that cannot be part of a kernel read the operand of a Cast, not its result:
//
//	W = Cast(X)             S = Reduce(sum, X, axis 0)
//	S = Reduce(sum, W, axis 0)
//
// It skips reductions along an axis of one element. There S equals W, so a deviation from the mean, W - S, should be
// exactly 0. But a kernel may use W before X is rounded, and the deviation would then be the rounding error of X. X may
// have reduced axes that W does not have; the pass counts these when it numbers the axis.
func (f *fuser) foldNarrow() {
	for _, s := range f.program.Body {
		r, ok := s.(*hostir.Reduce)
		if !ok || rowWise(s) || hostir.MayMove(s) || r.Out.DType != domain.FP32 || r.In.Axes[r.Axis].Size == 1 {
			continue
		}
		cast, ok := f.maker[r.In].(*hostir.Cast)
		widens := ok && cast.Out.DType == domain.FP32 && cast.In.DType.Computes()
		if widens && hostir.SameAxes(cast.In, cast.Out) && cast.In.Mesh == cast.Out.Mesh {
			k := slices.Index(hostir.Live(cast.Out), r.Axis)
			r.In, r.Axis = cast.In, hostir.Live(cast.In)[k]
		}
	}
}
