package calls

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
)

// dropEmpty drops loops and branches that do nothing, and puts what a branch without a condition
// holds in its place; a branch of which only the other side is left asks the opposite.
func dropEmpty(p *Program) {
	p.Body = Edit(p.Body, func(s Stmt) []Stmt {
		switch s := s.(type) {
		case *For:
			if !calls(s.Body) {
				return nil
			}
		case *If:
			return simplified(s)
		}
		return []Stmt{s}
	})
}

// calls reports whether statements do anything but name things.
func calls(body []Stmt) bool {
	return slices.ContainsFunc(body, func(s Stmt) bool {
		switch s.(type) {
		case *Declare, *Let, *DeclareStream:
			return false
		}
		return true
	})
}

func simplified(s *If) []Stmt {
	then, other := calls(s.Body), calls(s.Else)
	if !other {
		s.Else = nil
	}
	switch {
	case !then && !other:
		return nil
	case s.Cond == nil && s.Guard == "" && s.Reach == nil:
		return s.Body
	case !then && s.Guard == "" && s.Reach == nil:
		s.Cond, s.Body, s.Else = opposite(s.Cond), s.Else, nil
	}
	return []Stmt{s}
}

// opposite is a condition that holds where the other one does not.
func opposite(cond expr.Expr) expr.Expr {
	if b, ok := cond.(*expr.Binary); ok && (b.Op == "==" || b.Op == "!=") {
		return &expr.Binary{Op: map[string]string{"==": "!=", "!=": "=="}[b.Op], X: b.X, Y: b.Y}
	}
	return &expr.Binary{Op: "==", X: cond, Y: expr.Int(0)}
}

// dropUnused drops declarations that nothing names, notes which of the caller's tensors are used, and
// declares the rank where it is.
func dropUnused(p *Program) {
	used := map[string]bool{}
	r := &rewriter{
		noted: func(_, name string) { used[name] = true },
		place: func(at Pointer) Pointer { used[at.Base] = true; return at },
		queue: func(on Stream) Stream { used[on.Name] = true; return on },
		expression: func(e expr.Expr) expr.Expr {
			variables(e, func(name string) { used[name] = true })
			return e
		},
	}
	Walk(p.Body, func(s Stmt) bool {
		s.fields(r)
		used[s.Meta().Label] = true
		_, sums := s.(*PeerSum)
		used["rank"] = used["rank"] || sums
		return true
	})
	for _, s := range p.Shares {
		used[s.Memory], used[s.Label], used[s.Mesh] = true, true, true
	}
	p.Events = slices.DeleteFunc(p.Events, func(d *Events) bool { return !used[d.Name] })
	for _, d := range p.Events {
		used[d.Where] = true
	}
	for _, d := range p.Shapes {
		used[d.Label] = true
	}
	p.Buffers = slices.DeleteFunc(p.Buffers, func(d *Buffer) bool { return !used[d.Name] && !d.Workspace })
	for _, d := range p.Buffers {
		used[d.Guard] = true
	}
	p.Guards = slices.DeleteFunc(p.Guards, func(d *Guard) bool { return !used[d.Name] })
	p.Labels = slices.DeleteFunc(p.Labels, func(d *Label) bool { return !used[d.Name] })
	for _, a := range p.Arguments {
		a.Used = used[a.Name]
	}
	if used["rank"] && !declares(p.Body, "rank") {
		p.Body = append([]Stmt{&Let{Name: "rank"}}, p.Body...)
	}
}
