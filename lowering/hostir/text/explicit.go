package text

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// withViews returns a copy of a body with a statement for each view, where hostir.Introductions puts it. Whole views (hostir.IsWhole)
// of inputs are at the start. An Either becomes a branch that makes the view on both sides.
func withViews(body []hostir.Stmt) []hostir.Stmt {
	x := &explicit{made: map[*hostir.Tensor]bool{}}
	var inputs []hostir.Stmt // statements that make whole views of inputs
	for _, v := range hostir.ViewsIn(body) {
		if hostir.IsWhole(v) && hostir.Buffers(v)[0].Role == hostir.Input {
			x.made[v] = true
			inputs = append(inputs, v.Of)
		}
	}
	return append(inputs, x.list(body)...)
}

// explicit inserts views into lists.
type explicit struct {
	made map[*hostir.Tensor]bool // views made in the enclosing lists
}

// list returns a list with its views inserted.
func (x *explicit) list(body []hostir.Stmt) []hostir.Stmt {
	out := make([]hostir.Stmt, 0, len(body))
	var here []*hostir.Tensor
	for i, views := range hostir.Introductions(body) {
		for _, v := range views {
			if !x.made[v] {
				x.made[v] = true
				here = append(here, v)
				out = x.make(out, v)
			}
		}
		out = append(out, x.inside(body[i]))
	}
	for _, v := range here {
		delete(x.made, v)
	}
	return out
}

// inside copies a statement with nested lists, and inserts views into them.
func (x *explicit) inside(s hostir.Stmt) hostir.Stmt {
	if len(hostir.Bodies(s)) == 0 {
		return s
	}
	s = hostir.Clone(s)
	for _, body := range hostir.Bodies(s) {
		*body = x.list(*body)
	}
	return s
}

// make appends the statement that makes a view to out, and returns the result. For an Either it appends an If, or
// merges the If into the last statement of out if fits allows that.
func (x *explicit) make(out []hostir.Stmt, v *hostir.Tensor) []hostir.Stmt {
	of, ok := v.Of.(*hostir.Either)
	if !ok {
		return append(out, v.Of)
	}
	branch := &hostir.If{Info: of.Info, Cond: of.Cond, Body: x.side(v, of.Then), Else: x.side(v, of.Else)}
	if n := len(out); n > 0 {
		if last, ok := out[n-1].(*hostir.If); ok && fits(last, branch) {
			out[n-1] = appended(last, branch)
			return out
		}
	}
	return append(out, branch)
}

// side lists the statements for one side of an Either, which end with the one that makes the view v.
func (x *explicit) side(v, side *hostir.Tensor) []hostir.Stmt {
	var list []hostir.Stmt
	for _, t := range hostir.ViewsOf(hostir.Uses(side.Of)) {
		if !x.made[t] {
			list = x.make(list, t)
		}
	}
	return append(list, hostir.MadeAs(side.Of, v))
}

// fits reports whether a branch on views can be merged into the previous one: they have the same or opposite conditions, the same
// position, and no two different notes.
func fits(last, branch *hostir.If) bool {
	same := last.Cond.String() == branch.Cond.String() || last.Cond.String() == expr.Opposite(branch.Cond).String()
	return same && last.Pos == branch.Pos && (last.Note == "" || branch.Note == "" || last.Note == branch.Note)
}

// appended merges two Ifs with the same or opposite conditions. The statements of s come first, and the result has the
// condition of other.
func appended(s, other *hostir.If) *hostir.If {
	body, otherwise := s.Body, s.Else
	if s.Cond.String() != other.Cond.String() {
		body, otherwise = otherwise, body
	}
	info := s.Info
	if info.Note == "" {
		info.Note = other.Note
	}
	return &hostir.If{Info: info, Cond: other.Cond, Body: slices.Concat(body, other.Body), Else: slices.Concat(otherwise, other.Else)}
}
