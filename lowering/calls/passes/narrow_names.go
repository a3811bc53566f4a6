package passes

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
)

// narrowNames puts the name of a number into the branch that alone uses it: behind the condition a peer that is a
// number of iterations ahead is one that there is, and in front of it the name would say nothing.
//
//	before: Let(to, ...); If(cond s < S - 1): NcclCall(kind send, peer to)
//	after:  If(cond s < S - 1): Let(to, ...); NcclCall(kind send, peer to)
func narrowNames(p *calls.Program) { p.Body = calls.EditLists(p.Body, narrowed) }

func narrowed(list []calls.Stmt) []calls.Stmt {
	for i, s := range slices.Backward(list) { // a name may use those before it
		let, ok := s.(*calls.Let)
		if !ok {
			continue
		}
		if branch := onlyBranch(list[i+1:], let.Name); branch != nil {
			*branch = narrowed(append([]calls.Stmt{let}, *branch...))
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// onlyBranch is the side of a branch in a list that holds all uses of a name; nil where there is none.
func onlyBranch(list []calls.Stmt, name string) *[]calls.Stmt {
	uses := func(s calls.Stmt) bool { return usesName([]calls.Stmt{s}, name) }
	at := slices.IndexFunc(list, uses)
	if at < 0 || slices.ContainsFunc(list[at+1:], uses) {
		return nil
	}
	choice, ok := list[at].(*calls.If)
	then, other := ok && usesName(choice.Body, name), ok && usesName(choice.Else, name)
	switch {
	case !ok || then == other || mentions(choice, name):
		return nil
	case then:
		return &choice.Body
	default:
		return &choice.Else
	}
}

// usesName reports whether statements mention a name, also in those inside them.
func usesName(body []calls.Stmt, name string) bool {
	found := false
	calls.Walk(body, func(s calls.Stmt) bool {
		found = found || mentions(s, name)
		return !found
	})
	return found
}

// mentions reports whether a statement itself does.
func mentions(s calls.Stmt, name string) bool {
	found := false
	r := &calls.Rewriter{Expression: func(e expr.Expr) expr.Expr {
		found = found || expr.Mentions(e, name)
		return e
	}}
	r.Rewrite(s)
	return found
}
