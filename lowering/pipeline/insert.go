package pipeline

import (
	"github.com/hirgen/hirgen/internal/base/expr"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// insert adds Waits before and after the statements of a list, as w.before and w.behind say. joined may merge a
// conditional Wait into an adjacent branch.
func (w *waits) insert(body []hostir.Stmt) []hostir.Stmt {
	out := make([]hostir.Stmt, 0, len(body))
	for _, s := range body {
		for _, wait := range w.before[s] {
			out = w.joined(out, wait, s)
		}
		out = append(out, s)
		out = append(out, w.behind[s]...)
	}
	return out
}

// joined appends a Wait that goes before the statement next to out, and returns the result. If next is a branch
// with the same condition as a conditional Wait, the Wait becomes part of next instead. It becomes part of the
// last statement of out if that is a branch with the same or the opposite condition.
func (w *waits) joined(out []hostir.Stmt, wait, next hostir.Stmt) []hostir.Stmt {
	branch, ok := wait.(*hostir.If)
	if !ok {
		return append(out, wait)
	}
	if into, ok := next.(*hostir.If); ok && into.Cond.String() == branch.Cond.String() {
		into.Body = slices.Concat(branch.Body, into.Body)
		return out
	}
	n := len(out) - 1
	if n < 0 {
		return append(out, wait)
	}
	into, ok := out[n].(*hostir.If)
	switch {
	case ok && into.Cond.String() == branch.Cond.String():
		into.Body = append(into.Body, branch.Body...)
	case ok && expr.Opposite(into.Cond).String() == branch.Cond.String():
		into.Else = append(into.Else, branch.Body...)
	default:
		return append(out, wait)
	}
	return out
}
