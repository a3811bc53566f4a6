package faults

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// on counts a statement as a site, and reports whether to make the mistake there.
func (e *editor) on(s calls.Stmt, what string) bool {
	return e.here(s.Meta().Pos, "%s: %s", text.Statement(s), what)
}

func eachCall[S calls.Stmt](p *calls.Program, visit func(S)) {
	for typed := range calls.Each[S](p.Body) {
		visit(typed)
	}
}

// dropped removes one of the waits that satisfy which: the one at the editor's site.
func dropped(e *editor, p *calls.Program, which func(*calls.StreamWait) bool) {
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		if w, ok := s.(*calls.StreamWait); ok && which(w) && e.on(s, "left out") {
			return nil
		}
		return []calls.Stmt{s}
	})
}

func droppedWait(e *editor, p *calls.Program) {
	dropped(e, p, func(*calls.StreamWait) bool { return true })
}

func droppedJoin(e *editor, p *calls.Program) {
	dropped(e, p, func(w *calls.StreamWait) bool { return w.On.Name == calls.Caller })
}

// droppedFork removes a wait for an event of a set that the caller's stream records.
func droppedFork(e *editor, p *calls.Program) {
	callers := map[string]bool{}
	eachCall(p, func(r *calls.EventRecord) { callers[r.Event.Set] = callers[r.Event.Set] || r.On.Name == calls.Caller })
	dropped(e, p, func(w *calls.StreamWait) bool { return callers[w.Event.Set] })
}

func onCaller(e *editor, p *calls.Program) {
	eachCall(p, func(s *calls.NcclCall) {
		if !s.Grouped && s.On.Name != calls.Caller && e.on(s, "on the caller's stream") {
			s.On = calls.Stream{Name: calls.Caller}
		}
	})
}

// lists applies edit to a copy of each list of statements.
func lists(p *calls.Program, edit func(list []calls.Stmt) []calls.Stmt) {
	p.Body = calls.EditLists(p.Body, func(list []calls.Stmt) []calls.Stmt { return edit(slices.Clone(list)) })
}

func earlyBatch(e *editor, p *calls.Program) {
	lists(p, func(list []calls.Stmt) []calls.Stmt {
		for i := 1; i < len(list); i++ {
			if calls.Is[*calls.MemOpBatch](list[i]) && e.on(list[i], "before the statement before it") {
				list[i-1], list[i] = list[i], list[i-1]
				break
			}
		}
		return list
	})
}

// leavesLoop moves a statement of a loop to the place before or after the loop, if the index of the statement does not use
// the loop variable. The function index returns this index, or nil for statements that stay in the loop.
func leavesLoop(e *editor, p *calls.Program, index func(calls.Stmt) expr.Expr, before bool, what string) {
	lists(p, func(list []calls.Stmt) []calls.Stmt {
		for at, s := range list {
			loop, ok := s.(*calls.For)
			for i := 0; ok && i < len(loop.Body); i++ {
				inner := loop.Body[i]
				if n := index(inner); n == nil || expr.Mentions(n, loop.Var) || !e.on(inner, what) {
					continue
				}
				loop.Body = slices.Delete(slices.Clone(loop.Body), i, i+1)
				if !before {
					at++
				}
				return slices.Insert(list, at, inner)
			}
		}
		return list
	})
}

func earlyRecord(e *editor, p *calls.Program) {
	leavesLoop(e, p, func(s calls.Stmt) expr.Expr {
		if r, ok := s.(*calls.EventRecord); ok && !r.Watch {
			return r.Event.Index
		}
		return nil
	}, true, "before its loop")
}

func lateWaits(e *editor, p *calls.Program) {
	leavesLoop(e, p, func(s calls.Stmt) expr.Expr {
		if w, ok := s.(*calls.StreamWait); ok {
			return w.Event.Index
		}
		return nil
	}, false, "behind its loop")
}

// staleRecord removes a record, and makes the waits for its set of events wait for an earlier record of the same stream.
func staleRecord(e *editor, p *calls.Program) {
	lists(p, func(list []calls.Stmt) []calls.Stmt {
		for i, s := range list {
			late, ok := s.(*calls.EventRecord)
			for j := 0; ok && j < i; j++ {
				early, ok := list[j].(*calls.EventRecord)
				if !ok || early.Watch || late.Watch || early.On.String() != late.On.String() || early.Event.Set == late.Event.Set ||
					!e.on(late, "taken for "+early.Event.Set) {
					continue
				}
				eachCall(p, func(w *calls.StreamWait) {
					if w.Event.Set == late.Event.Set {
						w.Event = early.Event
					}
				})
				return slices.Delete(list, i, i+1)
			}
		}
		return list
	})
}

func lostBranch(e *editor, p *calls.Program) {
	lists(p, func(list []calls.Stmt) []calls.Stmt {
		for i, s := range list {
			if branch, ok := s.(*calls.If); ok && e.on(s, "taken by all") {
				return slices.Replace(list, i, i+1, branch.Body...)
			}
		}
		return list
	})
}
