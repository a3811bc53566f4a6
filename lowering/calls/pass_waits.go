package calls

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
)

// dropWaits drops the waits that others imply: for an event that the stream is behind already, and
// for one that an event waited for next is behind. It computes, on every rank, what each stream is
// behind of when a statement is issued; a wait that changes nothing on any rank goes. Of a loop that
// only waits, the last iteration stays where it implies the others. Records that nobody waits for go
// as well.
func dropWaits(p *Program) {
	o := newOrdering(p)
	o.runAll()
	p.Body = Edit(p.Body, func(s Stmt) []Stmt {
		switch s := s.(type) {
		case *StreamWait:
			if !o.needed[s] {
				return nil
			}
		case *For:
			if list := o.lastAlone(s); len(list) == 0 || list[0] != Stmt(s) {
				return list
			}
			return append(o.firstAlone(s), s)
		}
		return []Stmt{s}
	})
	waited := map[string]bool{}
	Walk(p.Body, func(s Stmt) bool {
		if w, ok := s.(*StreamWait); ok {
			waited[w.Event.Set] = true
		}
		return true
	})
	p.Body = Edit(p.Body, func(s Stmt) []Stmt {
		if r, ok := s.(*EventRecord); ok && !r.Watch && !waited[r.Event.Set] {
			return nil
		}
		return []Stmt{s}
	})
}

// lastAlone is a loop of waits as its last iteration, where no other one is needed.
func (o *ordering) lastAlone(s *For) []Stmt {
	count, ok := o.program.Values().Eval(s.Count)
	if len(s.Body) == 0 {
		return nil
	}
	needed := o.iterations[s]
	if !ok || !onlyWaits(s.Body) || len(needed) != 1 || !needed[count-1] || count-1 == s.First {
		return []Stmt{s}
	}
	last := fold(&expr.Binary{Op: "-", X: s.Count, Y: expr.Int(1)})
	rewriteAll(s.Body, &rewriter{expression: func(e expr.Expr) expr.Expr {
		return fold(substitute(e, map[string]expr.Expr{s.Var: last}))
	}})
	return s.Body
}

// firstAlone takes waits out of a loop that it needs in the first iteration alone: they stand before it.
func (o *ordering) firstAlone(s *For) []Stmt {
	var first []Stmt
	records := countUses(s.Body).records
	s.Body = slices.DeleteFunc(s.Body, func(inner Stmt) bool {
		w, ok := inner.(*StreamWait)
		if !ok || len(o.values[w]) != 1 || !o.values[w][s.First] || mentionsOf(w.Event.Index, s.Var) || mentionsOf(w.On.Index, s.Var) ||
			records[w.Event.Set] > 0 {
			return false
		}
		first = append(first, w)
		return true
	})
	return first
}

func onlyWaits(body []Stmt) bool {
	return !slices.ContainsFunc(body, func(s Stmt) bool {
		_, ok := s.(*StreamWait)
		return !ok
	})
}
