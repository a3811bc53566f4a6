package pipeline

import (
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Projector makes loops from a part of the statements of other loops.
type Projector struct{ program *hostir.Program }

// NewProjector returns a Projector for the loops of a program.
func NewProjector(p *hostir.Program) *Projector { return &Projector{p} }

// Project returns a loop with only the statements s for which keep returns true, in the same order, in copies of
// the branches and loops around them. The statements themselves are shared. The argument list of keep is the
// statement list that contains s. Project returns nil if keep returns true for none. It drops iterations at both
// ends as trim does.
//
//	before: For s in D: If s == 0: x Else: y(A_s)
//	after, with y:  For s in 1..D: y(A_s)
func (j *Projector) Project(loop *hostir.For, keep func(s hostir.Stmt, list []hostir.Stmt) bool) *hostir.For {
	body := j.block(loop.Body, keep)
	if len(body) == 0 {
		return nil
	}
	out := &hostir.For{Info: loop.Info, Var: loop.Var, First: loop.First, Count: loop.Count, Body: body}
	j.trim(out)
	return out
}

// block returns the kept statements of a list, not copied, in copies of the loops and branches around them. It
// leaves out loops and branches that become empty, negates a branch whose first side is empty, and merges
// adjacent branches on the same condition.
func (j *Projector) block(body []hostir.Stmt, keep func(s hostir.Stmt, list []hostir.Stmt) bool) []hostir.Stmt {
	out := make([]hostir.Stmt, 0, len(body))
	for _, s := range body {
		switch s := s.(type) {
		case *hostir.For:
			if inner := j.block(s.Body, keep); len(inner) > 0 {
				out = append(out, &hostir.For{Info: s.Info, Var: s.Var, First: s.First, Count: s.Count, Body: inner})
			}
		case *hostir.If:
			cond, then, otherwise := s.Cond, j.block(s.Body, keep), j.block(s.Else, keep)
			if len(then) == 0 {
				cond, then, otherwise = expr.Opposite(cond), otherwise, nil
			}
			if len(then) > 0 {
				out = appendBranch(out, &hostir.If{Info: s.Info, Cond: cond, Body: then, Else: otherwise})
			}
		default:
			if keep(s, body) {
				out = append(out, s)
			}
		}
	}
	return out
}

// appendBranch appends a branch to a list of copies, or merges it into the last branch if both have the same
// condition. Conditions depend only on ranks and loop variables, which statements do not change.
func appendBranch(list []hostir.Stmt, branch *hostir.If) []hostir.Stmt {
	if len(list) > 0 {
		if last, ok := list[len(list)-1].(*hostir.If); ok && last.Cond.String() == branch.Cond.String() {
			last.Body, last.Else = append(last.Body, branch.Body...), append(last.Else, branch.Else...)
			return list
		}
	}
	return append(list, branch)
}
