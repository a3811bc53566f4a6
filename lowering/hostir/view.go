package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
)

// Buffers lists the tensors with memory of their own that may be behind t: two where an Either decides.
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

// Views visits the views that a statement, without what stands in it, names, and those that they are views of:
// these first.
func Views(s Stmt, visit func(*Tensor)) {
	for _, t := range Mentions(s) {
		EachView(t, visit)
	}
}

// EachView visits a tensor, if it is a view, and those that it is a view of: these first.
func EachView(t *Tensor, visit func(*Tensor)) {
	if t == nil || t.Of == nil {
		return
	}
	for _, in := range Uses(t.Of) {
		EachView(in, visit)
	}
	visit(t)
}

// NamesPart reports whether a statement names one of so many parts of a tensor, the one that a loop variable counts.
func NamesPart(s Stmt, parts int64, variable string) bool {
	found := false
	Views(s, func(t *Tensor) {
		sel, ok := t.Of.(*Select)
		found = found || ok && sel.Parts > 0 && (parts == 0 || sel.Parts == parts) && sel.Index == expr.Var(variable)
	})
	return found
}

// MakeViews turns the statements of a list that make views into what these are views of.
func MakeViews(body []Stmt) []Stmt {
	return Rewrite(body, func(s Stmt) []Stmt {
		if out := Result(s); MakesView(s) && out.Role == View && out.Of == nil {
			out.Of = s
			return nil
		}
		return []Stmt{s}
	})
}

// MadeAs is a statement that makes a view, for another tensor than its own result.
func MadeAs(s Stmt, out *Tensor) Stmt {
	c := Clone(s)
	SubstituteDefs(c, func(*Tensor) *Tensor { return out })
	return c
}

// ViewUnless makes a view that of another statement where a condition does not hold.
func ViewUnless(view *Tensor, info Info, cond expr.Expr, other Stmt) {
	then, otherwise := *view, *view
	then.Of, otherwise.Of = MadeAs(view.Of, &then), MadeAs(other, &otherwise)
	view.Of = &Either{Info: info, Out: view, Then: &then, Else: &otherwise, Cond: cond}
}
