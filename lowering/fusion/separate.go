package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// separate finds in each group a statement that reads an operand that lacks the axis of the columns and that its group does not
// make. A kernel reads operands as rows, and such an operand has none. separate reports whether there was one. It adds the
// Broadcasts after the statement to apart, so that the statements before them can be a separate kernel. If there are none, it adds the
// group's result to flat, or the statement to apart if the result is itself a fold.
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

// cut ends or begins kernels between the folds of a group and a statement that reads another operand without the axis of the columns;
// see separate.
func (f *fuser) cut(g *kernelGroup, first hostir.Stmt) {
	from, views := map[*hostir.Tensor]bool{}, false
	for _, s := range g.members {
		if s != first && !slices.ContainsFunc(hostir.Uses(s), func(t *hostir.Tensor) bool { return from[t] }) {
			continue
		}
		if _, view := s.(*hostir.Broadcast); view {
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
