package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
)

// Buffers lists the tensors with separate memory that t may be a view of, or t itself if its Of is nil. There are several if an
// Either decides.
func Buffers(t *Tensor) []*Tensor {
	switch of := t.Of.(type) {
	case nil:
		return []*Tensor{t}
	case *Either:
		list := Buffers(of.Then)
		for _, b := range Buffers(of.Else) {
			if !slices.Contains(list, b) {
				list = append(list, b)
			}
		}
		return list
	default:
		return Buffers(Uses(of)[0])
	}
}

// Views visits the views that a statement names, and the views that these are made of. It ignores statements inside the statement.
// A view comes after the views that it is made of, and may come several times.
func Views(s Stmt, visit func(*Tensor)) {
	for _, t := range Mentions(s) {
		EachView(t, visit)
	}
}

// EachView visits a tensor if it is a view, after the views that it is made of, including those of both sides of an Either.
func EachView(t *Tensor, visit func(*Tensor)) {
	if t == nil || t.Of == nil {
		return
	}
	for _, in := range Uses(t.Of) {
		EachView(in, visit)
	}
	visit(t)
}

// ViewsOf lists, once, the views among tensors and the views that these are made of. A view comes after the views that it is made
// of. ViewsOf omits the sides of an Either, and views that only these are made of.
func ViewsOf(tensors []*Tensor) []*Tensor {
	var list []*Tensor
	seen := map[*Tensor]bool{}
	var add func(t *Tensor)
	add = func(t *Tensor) {
		if t.Of == nil || seen[t] {
			return
		}
		seen[t] = true
		if !Is[*Either](t.Of) {
			add(Uses(t.Of)[0])
		}
		list = append(list, t)
	}
	for _, t := range tensors {
		add(t)
	}
	return list
}

// Introductions lists, for each statement of a list, the views to introduce before it, or before the group that contains it. A
// view comes after the views that it is made of, and may come several times. A statement introduces the views that it names
// itself. It also introduces views that both sides of a branch name, and views that are named both inside it and in a later
// statement of the list, or inside that. A loop also introduces the whole views (IsWhole) of its body.
func Introductions(body []Stmt) [][]*Tensor {
	own, inside, last := make([][]*Tensor, len(body)), make([][]*Tensor, len(body)), map[*Tensor]int{}
	at, open := 0, false
	for i, s := range body {
		if !open {
			at = i
		}
		switch s.(type) {
		case *StartCoalescing:
			open = true
		case *EndCoalescing:
			open = false
		}
		own[at] = append(own[at], ViewsOf(Mentions(s))...)
		if branch, ok := s.(*If); ok {
			other := ViewsIn(branch.Else)
			own[at] = append(own[at], slices.DeleteFunc(ViewsIn(branch.Body), func(v *Tensor) bool { return !slices.Contains(other, v) })...)
		}
		nested := ViewsIn(body[i : i+1])
		for _, v := range nested {
			last[v] = at
		}
		inside[at] = append(inside[at], nested...)
	}
	for i := range body {
		own[i] = append(own[i], slices.DeleteFunc(inside[i], func(v *Tensor) bool {
			return last[v] == i && (!Is[*For](body[i]) || !IsWhole(v))
		})...)
	}
	return own
}

// IsWhole reports whether a view is made without any Select or Either, so that no expression determines its elements.
func IsWhole(v *Tensor) bool {
	switch of := v.Of.(type) {
	case nil:
		return true
	case *Select, *Either:
		return false
	default:
		return IsWhole(Uses(of)[0])
	}
}

// ViewsIn lists the views that statements and the statements inside them name, like ViewsOf. It omits views that depend on the
// variables of loops in body.
func ViewsIn(body []Stmt) []*Tensor {
	var loops []string
	var all []*Tensor
	for s := range All(body) {
		if loop, ok := s.(*For); ok {
			loops = append(loops, loop.Var)
		}
		all = append(all, Mentions(s)...)
	}
	return slices.DeleteFunc(ViewsOf(all), func(v *Tensor) bool {
		return slices.ContainsFunc(loops, func(variable string) bool { return Depends(v, variable) })
	})
}

// Depends reports whether an index or a condition of a view, or of a view that it is made of, depends on a variable.
func Depends(v *Tensor, variable string) bool {
	if v.Of == nil {
		return false
	}
	switch of := v.Of.(type) {
	case *Select:
		if expr.Mentions(of.Index, variable) {
			return true
		}
	case *Either:
		if expr.Mentions(of.Cond, variable) {
			return true
		}
	}
	return slices.ContainsFunc(Uses(v.Of), func(in *Tensor) bool { return Depends(in, variable) })
}

// NamesPart reports whether a statement names a view that is, or is made of, one of several equal parts of a tensor. The index of the
// Select that takes the part must be the variable itself. parts is the number of equal parts; 0: any number.
func NamesPart(s Stmt, parts int64, variable string) bool {
	found := false
	Views(s, func(t *Tensor) {
		sel, ok := t.Of.(*Select)
		found = found || ok && sel.Parts > 0 && (parts == 0 || sel.Parts == parts) && sel.Index == expr.Var(variable)
	})
	return found
}

// MakeViews removes the statements that make tensors of role View from a body, and stores each in the Of field of its view.
func MakeViews(body []Stmt) []Stmt {
	return Rewrite(body, func(s Stmt) []Stmt {
		if out := Result(s); MakesView(s) && out.Role == View && out.Of == nil {
			out.Of = s
			return nil
		}
		return []Stmt{s}
	})
}

// MadeAs returns a copy of a statement that makes a view, with out as its result.
func MadeAs(s Stmt, out *Tensor) Stmt {
	c := Clone(s)
	ReplaceDef(c, Result(c), out)
	return c
}

// ViewUnless makes view an Either: the view as before if cond is not zero, and the view that other makes otherwise.
func ViewUnless(view *Tensor, info Info, cond expr.Expr, other Stmt) {
	then, otherwise := *view, *view
	then.Of, otherwise.Of = MadeAs(view.Of, &then), MadeAs(other, &otherwise)
	view.Of = &Either{Info: info, Out: view, Then: &then, Else: &otherwise, Cond: cond}
}
