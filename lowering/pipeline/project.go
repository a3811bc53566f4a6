package pipeline

import (
	"github.com/hirgen/hirgen/internal/expr"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// Projector copies parts of loops.
type Projector struct {
	program *hostir.Program
	makes   map[hostir.Stmt]bool // whether a statement makes a view
	names   *hostir.Namer
}

// NewProjector prepares to copy parts of the loops of a program.
func NewProjector(p *hostir.Program) *Projector {
	return &Projector{program: p, makes: hostir.ViewMakers(p.Body), names: hostir.NewNamer(p)}
}

// MakesView reports whether a statement of the program, or a copy of one, only names memory.
func (j *Projector) MakesView(s hostir.Stmt) bool { return j.makes[s] }

// AddView tells of a new statement that makes a view.
func (j *Projector) AddView(s hostir.Stmt) { j.makes[s] = true }

// Fresh gives a name that nothing else in the program has, like the one given.
func (j *Projector) Fresh(name string) string { return j.names.Fresh(name) }

// Project gives a loop with some of the statements of another one, in the same order, with the
// branches and loops around them and the views that they name; nil if there are none. Iterations in
// which nothing happens are left out at both ends.
//
//	before: For s in D: If s == 0: x Else: (A_s = Select(A, axis 0, index s); y(A_s))
//	after, with y:  For s in 1..D: A_s = Select(A, axis 0, index s); y(A_s)
func (j *Projector) Project(loop *hostir.For, keep func(s hostir.Stmt, list []hostir.Stmt) bool) *hostir.For {
	body := j.live(j.block(loop.Body, keep), &named{of: map[*hostir.Tensor]bool{}})
	if len(body) == 0 {
		return nil
	}
	out := &hostir.For{Info: loop.Info, Var: loop.Var, First: loop.First, Count: loop.Count, Body: body}
	j.trim(out)
	return out
}

// block copies a list with what is kept of it, and all views.
func (j *Projector) block(body []hostir.Stmt, keep func(s hostir.Stmt, list []hostir.Stmt) bool) []hostir.Stmt {
	out := make([]hostir.Stmt, 0, len(body))
	for _, s := range body {
		switch s := s.(type) {
		case *hostir.For:
			out = append(out, &hostir.For{Info: s.Info, Var: s.Var, First: s.First, Count: s.Count, Body: j.block(s.Body, keep)})
		case *hostir.If:
			out = append(out, &hostir.If{Info: s.Info, Cond: s.Cond, Body: j.block(s.Body, keep), Else: j.block(s.Else, keep)})
		default:
			if j.makes[s] || keep(s, body) {
				out = append(out, s)
			}
		}
	}
	return out
}

// live leaves out views that nothing names, given what is named behind the list, and then branches
// and loops with nothing in them. A branch with nothing on its first side is turned round.
func (j *Projector) live(body []hostir.Stmt, later *named) []hostir.Stmt {
	var out []hostir.Stmt
	for _, s := range slices.Backward(body) {
		switch s := s.(type) {
		case *hostir.For:
			s.Body = j.live(s.Body, later)
		case *hostir.If:
			mark := len(later.log)
			s.Body = j.live(s.Body, later)
			first := later.undo(mark)
			s.Else = j.live(s.Else, later)
			later.add(first...)
			if len(s.Body) == 0 {
				s.Cond, s.Body, s.Else = expr.Opposite(s.Cond), s.Else, nil
			}
		default:
			if j.makes[s] {
				if !later.of[hostir.Result(s)] {
					continue
				}
				view := copyOf(s)
				j.makes[view] = true
				out = append(out, view)
			}
			later.add(j.needs(s)...)
		}
		if !j.makes[s] && !isEmpty(s) {
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// named are the tensors that statements behind a place name, in the order in which they were found.
type named struct {
	of  map[*hostir.Tensor]bool
	log []*hostir.Tensor
}

func (n *named) add(tensors ...*hostir.Tensor) {
	for _, t := range tensors {
		if !n.of[t] {
			n.of[t] = true
			n.log = append(n.log, t)
		}
	}
}

// undo forgets what was found since a mark, and gives it.
func (n *named) undo(mark int) []*hostir.Tensor {
	found := slices.Clone(n.log[mark:])
	for _, t := range found {
		delete(n.of, t)
	}
	n.log = n.log[:mark]
	return found
}

// needs lists the tensors that have to be there for a statement.
func (j *Projector) needs(s hostir.Stmt) []*hostir.Tensor {
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
	case *hostir.Slice:
		view := *s
		return &view
	default:
		panic("pipeline: " + s.Op() + " makes no view")
	}
}

// RenameViews gives the views of a loop names of their own. What only lends a view needs no
// pointer to it, which holds for all statements that name it or for none.
func (j *Projector) RenameViews(loop *hostir.For) {
	renamed := map[*hostir.Tensor]*hostir.Tensor{}
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		if out := hostir.Result(s); j.makes[s] && renamed[out] == nil {
			view := *out
			view.Name = j.names.Fresh(view.Name)
			renamed[out] = &view
			j.program.Tensors = append(j.program.Tensors, &view)
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
