package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// dropEmpty drops loops and branches that do nothing. It replaces a branch without a condition by its body. If only the
// Else of a branch does something, and Cond is its only condition, dropEmpty inverts Cond and makes the Else the body.
// Then it merges adjacent branches with the same guard.
func dropEmpty(p *calls.Program) {
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		switch s := s.(type) {
		case *calls.For:
			if !acts(s.Body) {
				return nil
			}
		case *calls.If:
			return simplified(s)
		}
		return []calls.Stmt{s}
	})
	p.Body = calls.EditLists(p.Body, calls.MergeIfs)
}

// acts reports whether statements do more than declare names.
func acts(body []calls.Stmt) bool {
	return slices.ContainsFunc(body, func(s calls.Stmt) bool {
		switch s.(type) {
		case *calls.Declare, *calls.Let, *calls.DeclareStream:
			return false
		}
		return true
	})
}

func simplified(s *calls.If) []calls.Stmt {
	then, other := acts(s.Body), acts(s.Else)
	if !other {
		s.Else = nil
	}
	switch {
	case !then && !other:
		return nil
	case s.Cond == nil && s.Guard == "" && s.PeerAccess == nil:
		return s.Body
	case !then && s.Guard == "" && s.PeerAccess == nil:
		s.Cond, s.Body, s.Else = expr.Opposite(s.Cond), s.Else, nil
	}
	return []calls.Stmt{s}
}

// withoutUnusedNumbers drops each Let of a list whose name no later statement of the list uses.
func withoutUnusedNumbers(list []calls.Stmt) []calls.Stmt {
	for i, s := range slices.Backward(list) { // a name may use earlier names
		if let, ok := s.(*calls.Let); ok && !usesName(list[i+1:], let.Name) {
			list = slices.Delete(list, i, i+1)
		}
	}
	return list
}

// dropUnused drops unused numbers, events, buffers, guards and labels. It marks which arguments are used, and declares
// the rank if it is used.
func dropUnused(p *calls.Program) {
	p.Body = calls.EditLists(p.Body, withoutUnusedNumbers)
	used := map[string]bool{}
	r := &calls.Rewriter{
		Noted: func(_, name string) { used[name] = true },
		Place: func(at calls.Pointer) calls.Pointer { used[at.Base] = true; return at },
		Queue: func(on calls.Stream) calls.Stream { used[on.Name] = true; return on },
		Expression: func(e expr.Expr) expr.Expr {
			expr.Variables(e, func(name string) { used[name] = true })
			return e
		},
	}
	for s := range calls.All(p.Body) {
		r.Rewrite(s)
		used[s.Meta().Label] = true
		used["rank"] = used["rank"] || calls.Is[*calls.PeerSum](s)
	}
	for _, d := range p.Declarations() {
		switch d.(type) {
		case *calls.Share, *calls.Shape, *calls.Attention:
			r.Rewrite(d)
		}
	}
	p.Events = slices.DeleteFunc(p.Events, func(d *calls.Events) bool { return !used[d.Name] })
	for _, d := range p.Events {
		used[d.Where] = true
	}
	for _, d := range p.Buffers {
		used[d.In] = used[d.In] || used[d.Name]
	}
	p.Buffers = slices.DeleteFunc(p.Buffers, func(d *calls.Buffer) bool { return !used[d.Name] })
	for _, d := range p.Buffers {
		used[d.Guard] = true
	}
	p.Guards = slices.DeleteFunc(p.Guards, func(d *calls.Guard) bool { return !used[d.Name] })
	p.Labels = slices.DeleteFunc(p.Labels, func(d *calls.Label) bool { return !used[d.Name] })
	for _, a := range p.Arguments {
		a.Used = used[a.Name]
	}
	if used["rank"] && !declares(p.Body, "rank") {
		p.Body = append([]calls.Stmt{&calls.Let{Name: "rank"}}, p.Body...)
	}
}
