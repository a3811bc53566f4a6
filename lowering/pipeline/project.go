package pipeline

import (
	"maps"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// project gives a loop with some tasks of another one, in the same order, the branches and loops
// around them, and the views that they name; nil if there are none. Iterations in which nothing
// happens are left out at both ends.
func (o *overlap) project(loop *hostir.For, keep func(*Task) bool) *hostir.For {
	j := &projection{overlap: o, keep: keep}
	body := j.live(j.block(loop.Body), map[*hostir.Tensor]bool{})
	if len(body) == 0 {
		return nil
	}
	out := &hostir.For{Info: loop.Info, Var: loop.Var, First: loop.First, Count: loop.Count, Body: body}
	o.trim(out)
	return out
}

type projection struct {
	*overlap
	keep func(*Task) bool
}

// block copies a list with what is kept of it, and all views.
func (j *projection) block(body []hostir.Stmt) []hostir.Stmt {
	out := make([]hostir.Stmt, 0, len(body))
	for _, s := range body {
		switch s := s.(type) {
		case *hostir.For:
			out = append(out, &hostir.For{Info: s.Info, Var: s.Var, First: s.First, Count: s.Count, Body: j.block(s.Body)})
		case *hostir.If:
			out = append(out, &hostir.If{Info: s.Info, Cond: s.Cond, Body: j.block(s.Body), Else: j.block(s.Else)})
		default:
			if j.keeps(s, body) {
				out = append(out, s)
			}
		}
	}
	return out
}

// keeps reports whether a statement of a list is kept. What opens and closes a group goes with its
// members, and handles are exchanged where memory is lent first.
func (j *projection) keeps(s hostir.Stmt, list []hostir.Stmt) bool {
	switch s := s.(type) {
	case *hostir.StartCoalescing:
		members, _ := hostir.Group(list[slices.Index(list, hostir.Stmt(s))+1:])
		return len(members) > 0 && j.keep(j.graph.of[members[0]])
	case *hostir.EndCoalescing:
		return slices.ContainsFunc(j.graph.members[s], j.keep)
	case *hostir.ShareMemHandles:
		return slices.ContainsFunc(j.graph.owners[s], j.keep)
	}
	t := j.graph.of[s]
	return t == nil || j.keep(t)
}

// live leaves out views that nothing names, given what is named behind the list, and then branches
// and loops with nothing in them. A branch with nothing on its first side is turned round.
func (j *projection) live(body []hostir.Stmt, named map[*hostir.Tensor]bool) []hostir.Stmt {
	var out []hostir.Stmt
	for _, s := range slices.Backward(body) {
		switch s := s.(type) {
		case *hostir.For:
			s.Body = j.live(s.Body, named)
		case *hostir.If:
			other := maps.Clone(named)
			s.Body, s.Else = j.live(s.Body, named), j.live(s.Else, other)
			maps.Copy(named, other)
			if len(s.Body) == 0 {
				s.Cond, s.Body, s.Else = opposite(s.Cond), s.Else, nil
			}
		default:
			if j.makes[s] {
				if !named[hostir.Result(s)] {
					continue
				}
				view := copyOf(s)
				j.makes[view] = true
				out = append(out, view)
			}
			for _, t := range j.names(s) {
				named[t] = true
			}
		}
		if !j.makes[s] && !isEmpty(s) {
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// names lists the tensors that have to be there for a statement.
func (j *projection) names(s hostir.Stmt) []*hostir.Tensor {
	if j.makes[s] {
		return hostir.Uses(s)
	}
	list := hostir.Mentions(s)
	for _, inner := range hostir.Bodies(s) {
		hostir.Walk(*inner, func(s hostir.Stmt) bool {
			list = append(list, hostir.Mentions(s)...)
			return true
		})
	}
	return list
}

// copyOf copies a statement that makes a view: each loop has its own.
func copyOf(s hostir.Stmt) hostir.Stmt {
	switch s := s.(type) {
	case *hostir.Select:
		view := *s
		return &view
	case *hostir.Broadcast:
		view := *s
		return &view
	case *hostir.Permute:
		view := *s
		return &view
	case *hostir.Reshape:
		view := *s
		return &view
	default:
		panic("pipeline: " + s.Op() + " makes no view")
	}
}

// renameViews gives the views of a loop names of their own. What only lends a view needs no
// pointer to it, which holds for all statements that name it or for none.
func (o *overlap) renameViews(loop *hostir.For) {
	renamed := map[*hostir.Tensor]*hostir.Tensor{}
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		if out := hostir.Result(s); o.makes[s] && renamed[out] == nil {
			view := *out
			view.Name = o.names.Fresh(view.Name)
			renamed[out] = &view
			o.program.Tensors = append(o.program.Tensors, &view)
		}
		return true
	})
	rename := func(t *hostir.Tensor) *hostir.Tensor {
		if view := renamed[t]; view != nil {
			return view
		}
		return t
	}
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		hostir.SubstituteUses(s, rename)
		hostir.SubstituteDefs(s, rename)
		return true
	})
}

// opposite is the opposite of a comparison.
func opposite(cond expr.Expr) expr.Expr {
	if c, ok := cond.(*expr.Binary); ok && (c.Op == "==" || c.Op == "!=") {
		op := "!="
		if c.Op == "!=" {
			op = "=="
		}
		return &expr.Binary{Op: op, X: c.X, Y: c.Y}
	}
	return &expr.Binary{Op: "==", X: cond, Y: expr.Int(0)}
}

// trim takes the iterations out of a loop in which a branch, all that the body has but for views,
// leaves out everything; the branch may stand in loops that hold nothing else.
//
//	before: For s in D: If s != 0: x
//	after:  For s in 1..D: x
func (o *overlap) trim(loop *hostir.For, around ...*hostir.For) {
	around = append(slices.Clone(around), loop)
	work := slices.IndexFunc(loop.Body, func(s hostir.Stmt) bool { return !o.makes[s] })
	if work < len(loop.Body)-1 {
		return
	}
	switch s := loop.Body[work].(type) {
	case *hostir.For:
		o.trim(s, around...)
	case *hostir.If:
		if len(s.Else) == 0 && o.leavesOut(s.Cond, around) {
			loop.Body = slices.Concat(loop.Body[:work], s.Body)
		}
	}
}

// leavesOut takes the iterations in which a condition does not hold out of the loop that it depends
// on, where those that stay follow each other.
func (o *overlap) leavesOut(cond expr.Expr, loops []*hostir.For) bool {
	at := -1
	for i, l := range loops {
		if mentions(cond, l.Var) {
			if at >= 0 {
				return false
			}
			at = i
		}
	}
	if at < 0 || mentions(cond, "rank") {
		return false
	}
	loop := loops[at]
	first, end, holes := int64(-1), int64(-1), false
	for i := loop.First; i < loop.Count.Size; i++ {
		value, err := expr.Eval(cond, o.at(loop.Var, i))
		if err != nil {
			return false
		}
		if value == 0 {
			continue
		}
		holes = holes || end >= 0 && end != i
		if end = i + 1; first < 0 {
			first = i
		}
	}
	if first < 0 || holes {
		return false
	}
	loop.First = first
	if end < loop.Count.Size {
		loop.Count = o.upTo(cond, loop.Count, end)
	}
	return true
}

// at gives names their values, with that of one loop variable.
func (o *overlap) at(variable string, value int64) func(string) (int64, bool) {
	return func(name string) (int64, bool) {
		if name == variable {
			return value, true
		}
		for _, p := range o.program.Params {
			if p.Name == name {
				return p.Value, true
			}
		}
		return 0, false
	}
}

// upTo is a number of iterations that ends where a condition does: as the condition spells it,
// or one less than before, or as a number.
func (o *overlap) upTo(cond expr.Expr, count domain.Extent, end int64) domain.Extent {
	if c, ok := cond.(*expr.Binary); ok && c.Op == "!=" {
		if value, err := expr.Eval(c.Y, o.at("", 0)); err == nil && value == end {
			return domain.Extent{Text: expr.Compact(c.Y), Size: end}
		}
	}
	if _, err := expr.Parse(count.Text); err != nil || count.Size-end != 1 {
		return domain.Extent{Size: end}
	}
	return domain.Extent{Text: count.Text + "-1", Size: end}
}

func mentions(e expr.Expr, variable string) bool {
	return slices.ContainsFunc(expr.Names(e.String()), func(n expr.Name) bool { return n.Text == variable })
}
