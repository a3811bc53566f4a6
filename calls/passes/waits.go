package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/order"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// dropWaits drops redundant waits: the stream may already be ordered after the event, or a later wait of the stream
// implies the order. The pass computes which work each stream is ordered after, and drops waits that change nothing on
// any rank. If the last iteration of a loop of waits implies the other iterations, only the last one stays. Waits that
// only the first iteration needs move before the loop. Records without waits are dropped, too, except records for the
// watchdog.
func dropWaits(p *calls.Program) {
	o := order.New(p)
	o.RunAll()
	last := map[string]bool{}
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		switch s := s.(type) {
		case *calls.StreamWait:
			if !o.Needed[s] {
				return nil
			}
		case *calls.For:
			if list := lastAlone(o, s); len(list) == 0 || list[0] != calls.Stmt(s) {
				for w := range calls.Each[*calls.StreamWait](list) {
					last[w.Event.Set] = true
				}
				return list
			}
			return append(firstAlone(o, s), s)
		}
		return []calls.Stmt{s}
	})
	waits := countUses(p.Body).waits
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		if r, ok := s.(*calls.EventRecord); ok {
			n := waits[r.Event.Set]
			if r.Last = r.Last || last[r.Event.Set] && n == 1; !r.Watch && n == 0 {
				return nil
			}
		}
		return []calls.Stmt{s}
	})
}

// impliesOthers is the note on a wait for the last of several events.
const impliesOthers = "the stream of these events works in order: the last one implies the others"

// lastAlone returns the waits of the last iteration of a loop of waits, if no other iteration is needed; otherwise the
// loop. It returns nil for a loop without statements.
func lastAlone(o *order.Ordering, s *calls.For) []calls.Stmt {
	count, ok := o.Program.Values().Eval(s.Count)
	if len(s.Body) == 0 {
		return nil
	}
	needed := o.Iterations[s]
	if !ok || !onlyWaits(s.Body) || len(needed) != 1 || !needed[count-1] || count-1 == s.First {
		return []calls.Stmt{s}
	}
	last := expr.Fold(&expr.Binary{Op: "-", X: s.Count, Y: expr.Int(1)})
	calls.RewriteAll(s.Body, &calls.Rewriter{Expression: func(e expr.Expr) expr.Expr {
		return expr.Fold(expr.Substitute(e, map[string]expr.Expr{s.Var: last}))
	}})
	if info := s.Body[0].Meta(); info.Note == "" {
		info.Note = impliesOthers
		if !o.Program.Graph {
			info.Note += ", which are for the watchdog"
		}
	}
	return s.Body
}

// firstAlone removes waits from a loop, and returns them, if only the first iteration needs them and they do not
// contain the loop variable.
func firstAlone(o *order.Ordering, s *calls.For) []calls.Stmt {
	var first []calls.Stmt
	records := countUses(s.Body).records
	s.Body = slices.DeleteFunc(s.Body, func(inner calls.Stmt) bool {
		w, ok := inner.(*calls.StreamWait)
		if !ok || len(o.Values[w]) != 1 || !o.Values[w][s.First] || expr.Mentions(w.Event.Index, s.Var) || expr.Mentions(w.On.Index, s.Var) ||
			records[w.Event.Set] > 0 {
			return false
		}
		first = append(first, w)
		return true
	})
	return first
}

func onlyWaits(body []calls.Stmt) bool {
	return !slices.ContainsFunc(body, func(s calls.Stmt) bool { return !calls.Is[*calls.StreamWait](s) })
}
