package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// take moves the statements of one way out of a loop, into a loop of their own over the
// same iterations; nil if there are none. The views that they name come along.
func (m *motion) take(loop *hostir.For, which way) *hostir.For {
	taken := m.filter(&loop.Body, which)
	if len(taken) == 0 {
		return nil
	}
	out := &hostir.For{Info: hostir.InfoFrom(loop, ""), Var: loop.Var, First: loop.First, Count: loop.Count, Body: taken}
	m.addViews(out)
	if which == lend {
		m.renameViews(out)
	}
	m.narrow(out)
	return out
}

// renameViews gives the views of a loop names of their own. What only lends a view needs no
// pointer to it, which holds for all statements that name it or for none.
func (m *motion) renameViews(loop *hostir.For) {
	renamed := map[*hostir.Tensor]*hostir.Tensor{}
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		if sel, ok := s.(*hostir.Select); ok && renamed[sel.Out] == nil {
			view := *sel.Out
			view.Name = m.names.Fresh(view.Name)
			renamed[sel.Out] = &view
			m.program.Tensors = append(m.program.Tensors, &view)
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

// filter moves the statements of one way out of a list, with the branches and loops that
// they stand in.
func (m *motion) filter(body *[]hostir.Stmt, which way) []hostir.Stmt {
	var taken []hostir.Stmt
	kept := make([]hostir.Stmt, 0, len(*body))
	for _, s := range *body {
		switch s := s.(type) {
		case *hostir.For:
			if inner := m.filter(&s.Body, which); len(inner) > 0 {
				taken = append(taken, &hostir.For{Info: hostir.InfoFrom(s, ""), Var: s.Var, First: s.First, Count: s.Count, Body: inner})
			}
			kept = append(kept, s)
		case *hostir.If:
			then, otherwise := m.filter(&s.Body, which), m.filter(&s.Else, which)
			switch {
			case len(then) > 0:
				taken = append(taken, &hostir.If{Info: hostir.InfoFrom(s, s.Note), Cond: s.Cond, Body: then, Else: otherwise})
			case len(otherwise) > 0:
				taken = append(taken, &hostir.If{Info: hostir.InfoFrom(s, s.Note), Cond: opposite(s.Cond), Body: otherwise})
			}
			kept = append(kept, s)
		default:
			if m.ways[s] == which {
				taken = append(taken, s)
			} else {
				kept = append(kept, s)
			}
		}
	}
	*body = kept
	return taken
}

// addViews puts in front of each list the Selects that make the views which it names.
func (m *motion) addViews(loop *hostir.For) {
	loop.Body = hostir.RewriteBlocks(loop.Body, func(body []hostir.Stmt) []hostir.Stmt {
		made := map[*hostir.Tensor]bool{}
		var views []hostir.Stmt
		for _, s := range body {
			for _, t := range hostir.Mentions(s) {
				views = append(views, m.views(t, made)...)
			}
		}
		return append(views, body...)
	})
}

// views gives the Selects that make a view in the loop at hand, outermost first, but those
// made already.
func (m *motion) views(t *hostir.Tensor, made map[*hostir.Tensor]bool) []hostir.Stmt {
	sel := m.selects[t]
	if sel == nil || made[t] {
		return nil
	}
	made[t] = true
	again := *sel
	again.Note = ""
	return append(m.views(sel.In, made), &again)
}

// tidy drops views that nothing names any more, and branches with nothing in them.
func (m *motion) tidy(loop *hostir.For) {
	for changed := true; changed; {
		changed = false
		named := map[*hostir.Tensor]bool{}
		hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
			mentions := hostir.Mentions(s)
			if sel, ok := s.(*hostir.Select); ok {
				mentions = []*hostir.Tensor{sel.In}
			}
			for _, t := range mentions {
				named[t] = true
			}
			return true
		})
		loop.Body = hostir.Rewrite(loop.Body, func(s hostir.Stmt) []hostir.Stmt {
			sel, isSelect := s.(*hostir.Select)
			branch, isIf := s.(*hostir.If)
			switch {
			case isSelect && !named[sel.Out], isEmpty(s):
				changed = true
				return nil
			case isIf && len(branch.Else) > 0 && m.namesOnly(branch.Else, branch, loop):
				changed, branch.Else = true, nil
			}
			return []hostir.Stmt{s}
		})
	}
}

// namesOnly reports whether one side of a branch makes nothing but views which no statement
// outside of the branch names.
func (m *motion) namesOnly(side []hostir.Stmt, branch *hostir.If, loop *hostir.For) bool {
	made := map[*hostir.Tensor]bool{}
	for _, s := range side {
		sel, ok := s.(*hostir.Select)
		if !ok {
			return false
		}
		made[sel.Out] = true
	}
	needed := false
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		needed = needed || slices.ContainsFunc(hostir.Mentions(s), func(t *hostir.Tensor) bool { return made[t] })
		return s != hostir.Stmt(branch)
	})
	return !needed
}

// isEmpty reports whether a statement is a branch or a loop without statements.
func isEmpty(s hostir.Stmt) bool {
	bodies := hostir.Bodies(s)
	return len(bodies) > 0 && !slices.ContainsFunc(bodies, func(b *[]hostir.Stmt) bool { return len(*b) > 0 })
}

// turn puts the other side of a branch first where nothing is left to do on the first one.
func (m *motion) turn(loop *hostir.For) {
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		if branch, ok := s.(*hostir.If); ok && len(branch.Else) > 0 && m.namesOnly(branch.Body, branch, loop) {
			branch.Cond, branch.Body, branch.Else = opposite(branch.Cond), branch.Else, nil
		}
		return true
	})
}

// opposite is the opposite of a comparison.
func opposite(cond expr.Expr) expr.Expr {
	if c, ok := cond.(*expr.Binary); ok && c.Op == "==" {
		return binary("!=", c.X, c.Y)
	}
	return binary("==", cond, expr.Int(0))
}

// narrow takes the first or the last step out of a loop over all steps, where the body does nothing
// in it but name memory. The branch that leaves out the step may stand in loops that hold nothing
// else: around, from the outermost on.
//
//	before: For s in D: If s != 0: x
//	after:  For s in 1..D: x
func (m *motion) narrow(loop *hostir.For, around ...*hostir.For) {
	around = append(around, loop)
	work := slices.IndexFunc(loop.Body, func(s hostir.Stmt) bool { return !isSelect(s) })
	if work < len(loop.Body)-1 {
		around = nil
	}
	for i, s := range loop.Body {
		switch s := s.(type) {
		case *hostir.For:
			m.narrow(s, around...)
		case *hostir.If:
			if len(around) > 0 && len(s.Else) == 0 && m.leavesOut(s.Cond, around) {
				loop.Body = slices.Concat(loop.Body[:i], s.Body)
			}
		}
	}
}

func isSelect(s hostir.Stmt) bool {
	_, ok := s.(*hostir.Select)
	return ok
}

// leavesOut takes the first or last iteration from the loop that a condition leaves it out of.
func (m *motion) leavesOut(condition expr.Expr, loops []*hostir.For) bool {
	cond, ok := condition.(*expr.Binary)
	if !ok || cond.Op != "!=" {
		return false
	}
	at := slices.IndexFunc(loops, func(l *hostir.For) bool { return cond.X == expr.Var(l.Var) })
	step, err := expr.Eval(cond.Y, func(name string) (int64, bool) {
		value, known := m.params[name]
		return value, known
	})
	switch {
	case at < 0 || err != nil:
		return false
	case step == loops[at].First:
		loops[at].First++
	case step == loops[at].Count.Size-1:
		loops[at].Count = domain.Extent{Text: expr.Compact(cond.Y), Size: step}
	default:
		return false
	}
	return true
}
