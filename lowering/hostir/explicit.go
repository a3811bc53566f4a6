package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
)

// Explicit is a body with a statement for each view, as programs are written and as calls are made of them. A
// view is made once, in the innermost list that holds all that names it and has values for its indices, before the
// first of these; what an input is by other axes at the start. A view that an Either decides is made on the sides of a branch. The body itself is left as it is.
func Explicit(body []Stmt) []Stmt {
	x := &explicit{made: map[*Tensor]bool{}}
	var inputs []Stmt // of which some views are all elements by other axes
	for _, u := range unitsOf(body) {
		for _, v := range u.views {
			if !x.made[v] && isWhole(v) && Buffers(v)[0].Role == Input {
				x.made[v] = true
				inputs = append(inputs, v.Of)
			}
		}
	}
	return append(inputs, x.list(body)...)
}

// explicit puts views into lists.
type explicit struct {
	made map[*Tensor]bool // in the lists around
}

// list is a list with the views that belong there.
func (x *explicit) list(body []Stmt) []Stmt {
	units := unitsOf(body)
	count := map[*Tensor]int{}
	for _, u := range units {
		for _, v := range u.views {
			count[v]++
		}
	}
	out := make([]Stmt, 0, len(body))
	var here []*Tensor
	for _, u := range units {
		for _, v := range u.views {
			if !x.made[v] && u.belongs(v, count[v] == 1) {
				x.made[v] = true
				here = append(here, v)
				out = x.make(out, v)
			}
		}
		for _, s := range u.stmts {
			out = append(out, x.inside(s))
		}
	}
	for _, v := range here {
		delete(x.made, v)
	}
	return out
}

// inside copies a statement that has lists, with the views in these.
func (x *explicit) inside(s Stmt) Stmt {
	if len(Bodies(s)) == 0 {
		return s
	}
	s = Clone(s)
	for _, body := range Bodies(s) {
		*body = x.list(*body)
	}
	return s
}

// make appends what makes a view.
func (x *explicit) make(out []Stmt, v *Tensor) []Stmt {
	of, ok := v.Of.(*Either)
	if !ok {
		return append(out, v.Of)
	}
	branch := &If{Info: of.Info, Cond: of.Cond, Body: x.side(v, of.Then), Else: x.side(v, of.Else)}
	if n := len(out); n > 0 {
		if last, ok := out[n-1].(*If); ok && fits(last, branch) {
			out[n-1] = last.appended(branch)
			return out
		}
	}
	return append(out, branch)
}

// side makes what one side of an Either needs, and the view itself.
func (x *explicit) side(v, side *Tensor) []Stmt {
	var list []Stmt
	for _, t := range viewsOf(Uses(side.Of)) {
		if !x.made[t] {
			list = x.make(list, t)
		}
	}
	return append(list, MadeAs(side.Of, v))
}

// fits reports whether a branch on views can be a part of the one before.
func fits(last, branch *If) bool {
	same := last.Cond.String() == branch.Cond.String() || last.Cond.String() == expr.Opposite(branch.Cond).String()
	return same && last.Pos == branch.Pos && (last.Note == "" || branch.Note == "" || last.Note == branch.Note)
}

// appended is a branch with what another one does, under the same or the opposite condition, at the ends of its sides.
// The condition is that of the other one.
func (s *If) appended(other *If) *If {
	body, otherwise := s.Body, s.Else
	if s.Cond.String() != other.Cond.String() {
		body, otherwise = otherwise, body
	}
	info := s.Info
	if info.Note == "" {
		info.Note = other.Note
	}
	return &If{Info: info, Cond: other.Cond, Body: slices.Concat(body, other.Body), Else: slices.Concat(otherwise, other.Else)}
}

// unit is a statement, or a group, which views stand in front of.
type unit struct {
	stmts []Stmt
	views []*Tensor // that it names, those that others are views of first
	loops []string  // the variables of the loops in it
}

// unitsOf cuts a list into units.
func unitsOf(body []Stmt) []unit {
	var units []unit
	for i := 0; i < len(body); i++ {
		end := i + 1
		if _, opens := body[i].(*StartCoalescing); opens {
			members, _ := Group(body[i+1:])
			end = min(i+2+len(members), len(body))
		}
		u := unit{stmts: body[i:end]}
		seen := map[*Tensor]bool{}
		Walk(u.stmts, func(s Stmt) bool {
			if loop, ok := s.(*For); ok {
				u.loops = append(u.loops, loop.Var)
			}
			return true
		})
		for _, s := range u.stmts {
			for _, v := range viewsIn(s) {
				if !seen[v] {
					seen[v] = true
					u.views = append(u.views, v)
				}
			}
		}
		units, i = append(units, u), end-1
	}
	return units
}

// viewsIn lists the views that a statement and what stands in it names, each with those that it is a view of before
// it, but for those that only a side of an Either needs.
func viewsIn(s Stmt) []*Tensor {
	var all []*Tensor
	Walk([]Stmt{s}, func(s Stmt) bool {
		all = append(all, Mentions(s)...)
		return true
	})
	return viewsOf(all)
}

// viewsOf lists the views among tensors, as viewsIn does.
func viewsOf(tensors []*Tensor) []*Tensor {
	var list []*Tensor
	seen := map[*Tensor]bool{}
	var add func(t *Tensor)
	add = func(t *Tensor) {
		if t.Of == nil || seen[t] {
			return
		}
		seen[t] = true
		if _, either := t.Of.(*Either); !either {
			add(Uses(t.Of)[0])
		}
		list = append(list, t)
	}
	for _, t := range tensors {
		add(t)
	}
	return list
}

// belongs reports whether a view that a unit names, and whether no other one does, is made in the list of the unit:
// its indices have values there, and not only a part of the unit names it.
func (u unit) belongs(v *Tensor, alone bool) bool {
	inLoops := func(s Stmt) bool { return len(Bodies(s)) > 0 || !slices.Contains(viewsIn(s), v) }
	if slices.ContainsFunc(u.loops, func(variable string) bool { return Depends(v, variable) }) && !slices.ContainsFunc(u.stmts, func(s Stmt) bool { return !inLoops(s) }) {
		return false
	}
	switch s := u.stmts[0].(type) {
	case *For:
		return !alone || isWhole(v)
	case *If:
		return !alone || names(s.Body, v) == names(s.Else, v)
	case *PeerReadSum:
		return !alone || !names(s.Body, v) || slices.Contains(Mentions(s), v)
	default:
		return true
	}
}

// isWhole reports whether a view has all elements of its buffer: it is made outside of loops.
func isWhole(v *Tensor) bool {
	switch of := v.Of.(type) {
	case nil:
		return true
	case *Select, *Either:
		return false
	default:
		return isWhole(Uses(of)[0])
	}
}

// names reports whether statements name a view, or one of it.
func names(body []Stmt, v *Tensor) bool {
	return slices.ContainsFunc(body, func(s Stmt) bool { return slices.Contains(viewsIn(s), v) })
}

// Depends reports whether a view has an index, or a condition, that depends on a variable.
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
