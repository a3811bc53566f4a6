package text

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// viewFolder removes the statements that make views from a parsed body. Each view gets the statement that makes it.
type viewFolder struct {
	*parser
	selected  map[*hostir.Tensor]bool // results of Selects; a Broadcast, Permute, Reshape or Slice into such a view copies
	allocates bool                    // the program has Allocate statements; without them, only Selects are removed
	order     []*hostir.Tensor        // the views, in the order of the first statements that make them
	made      map[*hostir.Tensor][]making
}

// making is a statement that makes a view.
type making struct {
	stmt hostir.Stmt
	in   *hostir.If // the branch whose side contains it; nil: none
	cond expr.Expr  // the condition of that side; nil: none
}

// foldViews removes the statements that make views from the body, and stores them in the Of fields of their views.
func (p *parser) foldViews() {
	f := &viewFolder{
		parser: p, selected: map[*hostir.Tensor]bool{}, made: map[*hostir.Tensor][]making{}, allocates: hostir.Allocates(p.program),
	}
	for sel := range hostir.Each[*hostir.Select](p.program.Body) {
		f.selected[sel.Out] = true
	}
	p.program.Body = f.list(p.program.Body, nil, nil)
	for _, t := range f.order {
		f.define(t)
	}
}

// list removes the statements that make views from one list. in and cond are the branch whose side the list is, and
// the condition of that side; nil if it is no side of a branch.
func (f *viewFolder) list(body []hostir.Stmt, in *hostir.If, cond expr.Expr) []hostir.Stmt {
	var out []hostir.Stmt
	for _, s := range body {
		if f.makesView(s) {
			t := hostir.Result(s)
			if f.made[t] == nil {
				f.order = append(f.order, t)
			}
			f.made[t] = append(f.made[t], making{s, in, cond})
			continue
		}
		switch s := s.(type) {
		case *hostir.For:
			s.Body = f.list(s.Body, nil, nil)
		case *hostir.PeerReadSum:
			s.Body = f.list(s.Body, nil, nil)
		case *hostir.If:
			first := len(s.Body)
			s.Body, s.Else = f.list(s.Body, s, s.Cond), f.list(s.Else, s, expr.Opposite(s.Cond))
			if first > 0 && len(s.Body) == 0 {
				if len(s.Else) == 0 {
					continue // the branch only made views
				}
				s.Cond, s.Body, s.Else = expr.Opposite(s.Cond), s.Else, nil
			}
		}
		out = append(out, s)
	}
	return out
}

func (f *viewFolder) makesView(s hostir.Stmt) bool {
	if _, sets := s.(*SetCurrentStream); sets || !hostir.MakesView(s) {
		return false
	}
	out := hostir.Result(s)
	if _, selects := s.(*hostir.Select); selects && out.Role != hostir.View {
		f.refuse(s, "%s makes %s a view, but its role is %s", hostir.Op(s), out.Name, out.Role)
		return false
	} else if selects {
		return true
	}
	if made := f.made[out]; len(made) > 0 && made[0].cond == nil && hostir.Op(made[0].stmt) != hostir.Op(s) {
		return false // another statement made the view, and this one copies into it
	}
	return out.Role == hostir.View && f.allocates && !f.selected[out]
}

// define sets the Of field of a view. All statements that make the view must have the same text, or there are two
// different texts, under opposite conditions.
func (f *viewFolder) define(t *hostir.Tensor) {
	first := f.made[t][0]
	var other *making
	for _, m := range f.made[t][1:] {
		switch {
		case Statement(m.stmt) == Statement(first.stmt) || other != nil && Statement(m.stmt) == Statement(other.stmt):
		case other == nil && first.cond != nil && m.cond != nil && expr.Opposite(m.cond).String() == first.cond.String():
			other = &m
		default:
			f.refuse(m.stmt, "%s is made in another way before", t.Name)
			return
		}
	}
	if t.Of = first.stmt; other == nil {
		return
	}
	info := hostir.InfoFrom(first.in, "")
	if len(first.in.Body)+len(first.in.Else) == 0 {
		info.Note = first.in.Note
	}
	hostir.ViewUnless(t, info, first.cond, other.stmt)
}

// refuse adds an error at the position of a statement in the text.
func (f *viewFolder) refuse(s hostir.Stmt, format string, args ...any) {
	f.errors.Add(f.lines[s], diag.HostIRSyntax, format, args...)
}

// namesMemory reports whether a statement only makes a view, or is an If that contains only such statements.
func namesMemory(s hostir.Stmt) bool {
	switch s := s.(type) {
	case *SetCurrentStream:
		return false
	case *hostir.If:
		other := func(s hostir.Stmt) bool { return !namesMemory(s) }
		return len(s.Body) > 0 && !slices.ContainsFunc(s.Body, other) && !slices.ContainsFunc(s.Else, other)
	}
	if _, selects := s.(*hostir.Select); selects || !hostir.MakesView(s) {
		return selects
	}
	of := hostir.Result(s).Of
	if either, ok := of.(*hostir.Either); ok {
		return hostir.Op(either.Then.Of) == hostir.Op(s) || hostir.Op(either.Else.Of) == hostir.Op(s)
	}
	return of != nil && hostir.Op(of) == hostir.Op(s) // a statement of another kind copies into the view
}
