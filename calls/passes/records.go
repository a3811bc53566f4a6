package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// moveSync moves records and joins out of loops that would repeat them.
//
// If a loop issues no work on a stream, a record of that stream is the same in every iteration, so it can move before
// the loop. If the caller's stream joins a compute stream in every iteration, and is not used otherwise in the loop,
// the joins move to another loop after this one. In loops that only order streams, moveSync drops iterations that
// repeat others.
func moveSync(p *calls.Program) {
	uses, events := countUses(p.Body), calls.ByName(p.Events)
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		loop, ok := s.(*calls.For)
		if !ok {
			return []calls.Stmt{s}
		}
		list := hoistRecords(loop, events, uses)
		after := sinkJoins(loop, uses)
		if len(loop.Body) > 0 && onlySync(loop.Body) {
			list = append(list, trimmed(p, loop)...)
		} else {
			list = append(list, loop)
		}
		if after != nil {
			list = append(list, trimmed(p, after)...)
		}
		return list
	})
}

// eventUses counts, for each set of events, the statements that record its events, and the statements that wait for
// them.
type eventUses struct{ records, waits map[string]int }

func countUses(body []calls.Stmt) eventUses {
	u := eventUses{records: map[string]int{}, waits: map[string]int{}}
	for s := range calls.All(body) {
		switch s := s.(type) {
		case *calls.EventRecord:
			u.records[s.Event.Set]++
		case *calls.StreamWait:
			u.waits[s.Event.Set]++
		}
	}
	return u
}

// hoistRecords removes records that are the same in every iteration from a loop, and returns them.
func hoistRecords(loop *calls.For, events map[string]*calls.Events, uses eventUses) []calls.Stmt {
	var out []calls.Stmt
	work, waits := worked(loop.Body), waitsOf(loop.Body)
	loop.Body = slices.DeleteFunc(loop.Body, func(s calls.Stmt) bool {
		r, ok := s.(*calls.EventRecord)
		if !ok || expr.Mentions(r.On.Index, loop.Var) || work[queueOf(r.On)] ||
			expr.Mentions(r.Event.Index, loop.Var) && !oneEvent(events, r, waits[r.Event.Set], uses) {
			return false
		}
		out = append(out, s)
		return true
	})
	return out
}

// oneEvent makes the iterations of a loop share one event, if each event of the set is waited for only in the iteration
// that records it. It reports whether it did. waits are the waits for the set in the loop.
func oneEvent(events map[string]*calls.Events, r *calls.EventRecord, waits []*calls.StreamWait, uses eventUses) bool {
	set, index := r.Event.Set, r.Event.Index.String()
	if r.Watch || uses.records[set] != 1 || uses.waits[set] != len(waits) ||
		slices.ContainsFunc(waits, func(w *calls.StreamWait) bool { return w.Event.Index.String() != index }) {
		return false
	}
	r.Event.Index = expr.Int(0)
	r.Note = "" // the note describes the statement after the record, which stays in the loop
	if r.On.Name == calls.Caller {
		r.Note = calls.TransfersWait
	}
	for _, w := range waits {
		w.Event.Index = expr.Int(0)
	}
	events[set].Count = expr.Int(1)
	return true
}

// waitsOf lists the waits for events, by set.
func waitsOf(body []calls.Stmt) map[string][]*calls.StreamWait {
	waits := map[string][]*calls.StreamWait{}
	for w := range calls.Each[*calls.StreamWait](body) {
		waits[w.Event.Set] = append(waits[w.Event.Set], w)
	}
	return waits
}

// queue identifies a stream. All compute streams are one queue, because two of their indices may be the same stream.
type queue struct {
	name string
	team bool
}

func queueOf(s calls.Stream) queue { return queue{s.Name, s.Team} }

// worked returns the streams on which statements issue work or waits.
func worked(body []calls.Stmt) map[queue]bool {
	found := map[queue]bool{}
	for s := range calls.All(body) {
		if _, record := s.(*calls.EventRecord); !record {
			for _, used := range calls.StreamsOf(s) {
				found[queueOf(used)] = true
			}
		}
	}
	return found
}

// sinkJoins removes the joins from a loop, and returns a loop that makes them afterwards; nil if the joins stay or
// there are none.
func sinkJoins(loop *calls.For, uses eventUses) *calls.For {
	var joins, rest []calls.Stmt
	var on *calls.StreamWait // the last wait of a join
	several := false         // a set has several waits, or several streams wait
	for i := 0; i < len(loop.Body); i++ {
		if i+1 < len(loop.Body) && isJoin(loop, loop.Body[i], loop.Body[i+1]) {
			joins = append(joins, loop.Body[i], loop.Body[i+1])
			i++
			if w, ok := loop.Body[i].(*calls.StreamWait); ok {
				several = several || uses.waits[w.Event.Set] > 1 || on != nil && on.On != w.On
				on = w
			}
			continue
		}
		rest = append(rest, loop.Body[i])
	}
	if on == nil || several || len(rest) == 0 || calls.UsesStream(rest, on.On) {
		return nil
	}
	loop.Body = rest
	for _, s := range joins {
		s.Meta().Note = ""
	}
	info := calls.Info{Pos: joins[0].Meta().Pos, Note: "the caller's stream waits for all compute streams"}
	return &calls.For{Info: info, Var: loop.Var, First: loop.First, Count: loop.Count, Body: joins}
}

// isJoin reports whether two statements record a compute stream that depends on the iteration, and make the caller's
// stream wait for it.
func isJoin(loop *calls.For, first, second calls.Stmt) bool {
	r, ok := first.(*calls.EventRecord)
	w, ok2 := second.(*calls.StreamWait)
	return ok && ok2 && r.Event.Set == w.Event.Set && w.On.Name == calls.Caller && r.On.Index != nil && expr.Mentions(r.On.Index, loop.Var)
}

// onlySync reports whether statements only order streams.
func onlySync(body []calls.Stmt) bool {
	return !slices.ContainsFunc(body, func(s calls.Stmt) bool {
		switch s.(type) {
		case *calls.EventRecord, *calls.StreamWait:
			return false
		}
		return true
	})
}

// trimmed removes repeated iterations from a loop that only orders streams, if the loop does not depend on its
// variable, or depends on it only modulo the number of compute streams. It returns other loops unchanged.
func trimmed(p *calls.Program, loop *calls.For) []calls.Stmt {
	period, name := periodOf(loop), loop.Var
	count, ok := p.Values().Eval(loop.Count)
	switch {
	case !ok || count <= loop.First:
		return []calls.Stmt{loop}
	case period == 0: // it does not depend on its variable
		return loop.Body
	case period < 0 || int64(p.Streams) > count && loop.First > 0:
		return []calls.Stmt{loop}
	case count-loop.First >= int64(p.Streams):
		name, loop.First, loop.Count = calls.StreamVar, 0, expr.Var(calls.StreamCount)
	case loop.First > 0:
		return []calls.Stmt{loop}
	}
	if onlyWaits(loop.Body) {
		loop.Note = "all compute streams start after the caller's earlier work"
	}
	calls.RewriteAll(loop.Body, &calls.Rewriter{Expression: func(e expr.Expr) expr.Expr {
		return expr.Replace(e, loop.Var+" % "+calls.StreamCount, expr.Var(name))
	}})
	loop.Var = name
	return []calls.Stmt{loop}
}

// periodOf returns how a loop depends on its variable: 0 not at all, 1 modulo the number of compute streams, -1
// otherwise.
func periodOf(loop *calls.For) int {
	period := 0
	calls.RewriteAll(loop.Body, &calls.Rewriter{Expression: func(e expr.Expr) expr.Expr {
		rest := expr.Replace(e, loop.Var+" % "+calls.StreamCount, expr.Int(0))
		switch {
		case expr.Mentions(rest, loop.Var):
			period = -1
		case expr.Mentions(e, loop.Var) && period == 0:
			period = 1
		}
		return e
	}})
	return period
}
