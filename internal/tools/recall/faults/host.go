package faults

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// after returns a fault that runs the pass and then edits its result.
func after(edit func(e *editor, p *hostir.Program)) func(*editor, *hostir.Program, func(*hostir.Program) error) error {
	return func(e *editor, p *hostir.Program, run func(*hostir.Program) error) error {
		if err := run(p); err != nil {
			return err
		}
		edit(e, p)
		return nil
	}
}

// at counts a statement as a site, and reports whether to make the mistake there.
func (e *editor) at(s hostir.Stmt, what string) bool {
	return e.here(s.Meta().Pos, "%s: %s", text.Statement(s), what)
}

// each visits statements of a type.
func each[S hostir.Stmt](p *hostir.Program, visit func(S)) {
	for typed := range hostir.Each[S](p.Body) {
		visit(typed)
	}
}

// next returns i + 1 modulo n.
func next(i expr.Expr, n int64) expr.Expr {
	return expr.Op("%", expr.Op("+", i, expr.Int(1)), expr.Int(n))
}

// eachSelect visits the Select statements of a program, in lists of statements and as origins of views.
func eachSelect(p *hostir.Program, visit func(*hostir.Select)) {
	seen := map[*hostir.Select]bool{}
	for s := range hostir.All(p.Body) {
		see := func(s hostir.Stmt) {
			if view, ok := s.(*hostir.Select); ok && !seen[view] {
				seen[view] = true
				visit(view)
			}
		}
		see(s)
		hostir.Views(s, func(t *hostir.Tensor) { see(t.Of) })
	}
}

func wrongSlice(e *editor, p *hostir.Program) {
	eachSelect(p, func(s *hostir.Select) {
		n := s.Parts
		if i := slices.Index(hostir.Live(s.In), s.Axis); n == 0 && i >= 0 {
			n = hostir.LocalShape(s.In)[i]
		}
		if n > 1 && e.at(s, "the next one") {
			s.Index = next(s.Index, n)
		}
	})
}

func swappedSides(e *editor, p *hostir.Program) {
	seen := map[*hostir.Either]bool{}
	for s := range hostir.All(p.Body) {
		hostir.Views(s, func(t *hostir.Tensor) {
			if of, ok := t.Of.(*hostir.Either); ok && !seen[of] {
				seen[of] = true
				if e.here(s.Meta().Pos, "%s is the other side of %s", t.Name, of.Cond) {
					of.Then, of.Else = of.Else, of.Then
				}
			}
		})
	}
}

// wrongOperand replaces an operand by another tensor of the program with the same type and shape on a
// rank.
func wrongOperand(e *editor, p *hostir.Program) {
	for s := range hostir.All(p.Body) {
		if hostir.MakesView(s) || len(hostir.Defs(s)) == 0 {
			continue
		}
		operands := hostir.Uses(s)
		for i, t := range operands {
			for _, other := range p.Tensors {
				if other == t || other.DType != t.DType || slices.Contains(hostir.Defs(s), other) ||
					!slices.Equal(hostir.LocalShape(other), hostir.LocalShape(t)) {
					continue
				}
				if e.at(s, other.Name+" for "+t.Name) {
					operands = slices.Clone(operands)
					operands[i] = other
					hostir.ReplaceUses(s, operands)
				}
			}
		}
	}
}

func lostIteration(e *editor, p *hostir.Program) {
	each(p, func(s *hostir.For) {
		if s.Count.Size-s.First > 1 && e.at(s, "from the second one on") {
			s.First++
		}
	})
}

// works reports whether a statement moves or computes data.
func works(s hostir.Stmt) bool {
	return len(hostir.Bodies(s)) == 0 && len(hostir.Uses(s))+len(hostir.Defs(s)) > 0 && !hostir.MakesView(s)
}

func lostStatement(e *editor, p *hostir.Program) {
	p.Body = hostir.Rewrite(p.Body, func(s hostir.Stmt) []hostir.Stmt {
		if works(s) && e.at(s, "left out") {
			return nil
		}
		return []hostir.Stmt{s}
	})
}

func swappedStatements(e *editor, p *hostir.Program) {
	exchange(e, p, func(a, b hostir.Stmt) bool {
		return (works(a) || len(hostir.Bodies(a)) > 0) && (works(b) || len(hostir.Bodies(b)) > 0)
	})
}

// exchange swaps two adjacent statements that satisfy which: those at the editor's site.
func exchange(e *editor, p *hostir.Program, which func(a, b hostir.Stmt) bool) {
	p.Body = hostir.RewriteBlocks(p.Body, func(list []hostir.Stmt) []hostir.Stmt {
		list = slices.Clone(list)
		for i := 1; i < len(list); i++ {
			if which(list[i-1], list[i]) && e.at(list[i], "before the statement before it") {
				list[i-1], list[i] = list[i], list[i-1]
				break
			}
		}
		return list
	})
}
