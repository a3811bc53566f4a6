package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// separate finds, in each group, a statement with an operand that has no axis of columns and that no member before it
// computes. A kernel reads operands as rows, and such an operand has no rows. separate reports whether there was such a
// statement. It adds the Broadcasts that depend on the statement to apart, so that the statements before them can be a
// separate kernel. If there are no such Broadcasts, it adds the group's result to flat, if that has no axis of columns,
// is no reduction, and is not in flat yet. Otherwise it adds the statement to apart.
func (f *fuser) separate() bool {
	found := false
	for last, g := range f.groups {
		if last != g.result() {
			continue
		}
		made := map[*hostir.Tensor]bool{}
		missing := func(t *hostir.Tensor) bool { return !made[t] }
		for _, s := range g.members {
			if g.reads(s) && slices.ContainsFunc(hostir.Uses(s), missing) {
				f.cut(g, s)
				found = true
				break
			}
			made[hostir.Result(s)] = true
		}
	}
	return found
}

// cut ends or begins kernels between the reductions of a group and a statement with another operand that has no axis of
// columns; see separate.
func (f *fuser) cut(g *kernelGroup, first hostir.Stmt) {
	from, views := map[*hostir.Tensor]bool{}, false
	for _, s := range g.members {
		if s != first && !lists.AnyIn(hostir.Uses(s), from) {
			continue
		}
		if hostir.Is[*hostir.Broadcast](s) {
			f.apart[s], views = true, true
		} else {
			from[hostir.Result(s)] = true
		}
	}
	last := g.result()
	_, reduce := last.(*hostir.Reduce)
	switch {
	case views:
	case g.folded[hostir.Result(last)] && !reduce && !f.flat[last]:
		f.flat[last] = true
	default:
		f.apart[first] = true
	}
}
