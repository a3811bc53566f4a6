package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// narrowNames moves the declaration of a number (Let) into the branch that contains all its uses. For example, the peer
// of a later iteration exists only if the condition of the branch holds.
//
//	before: Let(to, ...); If(cond s < S - 1): NcclCall(kind send, peer to)
//	after:  If(cond s < S - 1): Let(to, ...); NcclCall(kind send, peer to)
func narrowNames(p *calls.Program) { p.Body = calls.EditLists(p.Body, narrowed) }

func narrowed(list []calls.Stmt) []calls.Stmt {
	for i, s := range slices.Backward(list) { // a name may use earlier names
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

// onlyBranch returns the list (Body or Else) of an If that contains all uses of a name in the given list. It returns nil
// if there is no such list, for example because the condition of the If uses the name, too.
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

// usesName reports whether statements, including nested ones, mention a name.
func usesName(body []calls.Stmt, name string) bool {
	return calls.Any(body, func(s calls.Stmt) bool { return mentions(s, name) })
}

// mentions reports whether an expression of a statement mentions a name. It does not look at nested statements.
func mentions(s calls.Stmt, name string) bool {
	found := false
	r := &calls.Rewriter{Expression: func(e expr.Expr) expr.Expr {
		found = found || expr.Mentions(e, name)
		return e
	}}
	r.Rewrite(s)
	return found
}
