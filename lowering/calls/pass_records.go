package calls

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
)

// moveSync takes records and joins out of loops in which they would repeat.
//
// A record of a stream that the loop gives no work is the same in every iteration: it stands before
// the loop, once. A stream that waits at the end of every iteration, and does nothing else in the
// loop, waits behind the loop, once for each stream that it joins.
func moveSync(p *Program) {
	uses, events := countUses(p.Body), map[string]*Events{}
	for _, e := range p.Events {
		events[e.Name] = e
	}
	p.Body = Edit(p.Body, func(s Stmt) []Stmt {
		loop, ok := s.(*For)
		if !ok {
			return []Stmt{s}
		}
		list := hoistRecords(loop, events, uses)
		after := sinkJoins(loop, uses)
		if len(loop.Body) > 0 && onlySync(loop.Body) {
			list = append(list, p.trimmed(loop)...)
		} else {
			list = append(list, loop)
		}
		if after != nil {
			list = append(list, p.trimmed(after)...)
		}
		return list
	})
}

// eventUses counts the statements that record events of each set, and that wait for them.
type eventUses struct{ records, waits map[string]int }

func countUses(body []Stmt) eventUses {
	u := eventUses{records: map[string]int{}, waits: map[string]int{}}
	Walk(body, func(s Stmt) bool {
		switch s := s.(type) {
		case *EventRecord:
			u.records[s.Event.Set]++
		case *StreamWait:
			u.waits[s.Event.Set]++
		}
		return true
	})
	return u
}

// hoistRecords takes out of a loop what it would record again.
func hoistRecords(loop *For, events map[string]*Events, uses eventUses) []Stmt {
	if !slices.ContainsFunc(loop.Body, func(s Stmt) bool { _, ok := s.(*EventRecord); return ok }) {
		return nil
	}
	var out []Stmt
	work, waits := worked(loop.Body), waitsOf(loop.Body)
	loop.Body = slices.DeleteFunc(loop.Body, func(s Stmt) bool {
		r, ok := s.(*EventRecord)
		if !ok || mentionsOf(r.On.Index, loop.Var) || work[r.On.queue()] ||
			mentionsOf(r.Event.Index, loop.Var) && !oneEvent(events, r, waits[r.Event.Set], uses) {
			return false
		}
		out = append(out, s)
		return true
	})
	return out
}

// oneEvent makes the events that a statement records in the iterations of a loop one, where only the
// same iteration waits for each: waits are those of the loop.
func oneEvent(events map[string]*Events, r *EventRecord, waits []*StreamWait, uses eventUses) bool {
	set, index := r.Event.Set, r.Event.Index.String()
	if r.Watch || uses.records[set] != 1 || uses.waits[set] != len(waits) ||
		slices.ContainsFunc(waits, func(w *StreamWait) bool { return w.Event.Index.String() != index }) {
		return false
	}
	r.Event.Index, r.Note = expr.Int(0), "" // which was for what follows it
	for _, w := range waits {
		w.Event.Index = expr.Int(0)
	}
	events[set].Count = expr.Int(1)
	return true
}

// waitsOf lists the waits for events of each set.
func waitsOf(body []Stmt) map[string][]*StreamWait {
	waits := map[string][]*StreamWait{}
	Walk(body, func(s Stmt) bool {
		if w, ok := s.(*StreamWait); ok {
			waits[w.Event.Set] = append(waits[w.Event.Set], w)
		}
		return true
	})
	return waits
}

func mentionsOf(e expr.Expr, name string) bool { return e != nil && mentions(e, name) }

// queue is a stream, or one of the compute streams: of two it is not known whether they are one.
type queue struct {
	name string
	team bool
}

func (s Stream) queue() queue { return queue{s.Name, s.Team} }

// worked are the streams that statements give work, or make wait.
func worked(body []Stmt) map[queue]bool {
	found := map[queue]bool{}
	Walk(body, func(s Stmt) bool {
		if _, record := s.(*EventRecord); !record {
			for _, used := range streamsOf(s) {
				found[used.queue()] = true
			}
		}
		return true
	})
	return found
}

// streamsOf lists the streams that a statement runs on.
func streamsOf(s Stmt) []Stream {
	var list []Stream
	s.fields(&rewriter{queue: func(on Stream) Stream { list = append(list, on); return on }})
	switch s := s.(type) {
	case *NcclCall:
		list = append(list, Stream{Name: s.Team, Team: true})
	case *NcclGroup:
		list = append(list, Stream{Name: s.Team, Team: true})
	}
	return list
}

// sinkJoins takes the joins at the end of iterations out of a loop; nil if there are none.
func sinkJoins(loop *For, uses eventUses) *For {
	var joins, rest []Stmt
	var on *StreamWait // one of them
	several := false   // events or streams
	for i := 0; i < len(loop.Body); i++ {
		if i+1 < len(loop.Body) && isJoin(loop, loop.Body[i], loop.Body[i+1]) {
			joins = append(joins, loop.Body[i], loop.Body[i+1])
			i++
			if w, ok := loop.Body[i].(*StreamWait); ok {
				several = several || uses.waits[w.Event.Set] > 1 || on != nil && on.On != w.On
				on = w
			}
			continue
		}
		rest = append(rest, loop.Body[i])
	}
	if on == nil || several || len(rest) == 0 || usesStream(rest, on.On) {
		return nil
	}
	loop.Body = rest
	for _, s := range joins {
		s.Meta().Note = ""
	}
	info := Info{Pos: joins[0].Meta().Pos, Note: "the caller waits for all compute streams"}
	return &For{Info: info, Var: loop.Var, First: loop.First, Count: loop.Count, Body: joins}
}

// isJoin reports whether two statements make a stream that does not depend on the iteration wait for
// one that does.
func isJoin(loop *For, first, second Stmt) bool {
	r, ok := first.(*EventRecord)
	w, ok2 := second.(*StreamWait)
	return ok && ok2 && r.Event.Set == w.Event.Set && w.On.Name == Caller && r.On.Index != nil && mentions(r.On.Index, loop.Var)
}

// usesStream reports whether statements name a stream at all.
func usesStream(body []Stmt, on Stream) bool {
	found := false
	Walk(body, func(s Stmt) bool {
		found = found || slices.ContainsFunc(streamsOf(s), func(u Stream) bool { return u.Name == on.Name && u.Team == on.Team })
		return !found
	})
	return found
}

// onlySync reports whether statements only order streams.
func onlySync(body []Stmt) bool {
	return !slices.ContainsFunc(body, func(s Stmt) bool {
		switch s.(type) {
		case *EventRecord, *StreamWait:
			return false
		}
		return true
	})
}

// trimmed is a loop that only orders streams without iterations that repeat others: it depends on
// its variable modulo the number of compute streams alone.
func (p *Program) trimmed(loop *For) []Stmt {
	period := periodOf(loop)
	count, ok := p.Values().Eval(loop.Count)
	switch {
	case !ok || count <= loop.First:
		return []Stmt{loop}
	case period == 0: // it does not depend on its variable
		return loop.Body
	case period < 0 || int64(p.Streams) > count && loop.First > 0:
		return []Stmt{loop}
	case count-loop.First >= int64(p.Streams):
		loop.First, loop.Count = 0, expr.Var(StreamCount)
	case loop.First > 0:
		return []Stmt{loop}
	}
	if onlyWaits(loop.Body) {
		loop.Note = "all compute streams wait for the caller"
	}
	rewriteAll(loop.Body, &rewriter{expression: func(e expr.Expr) expr.Expr {
		return replaced(e, loop.Var+" % "+StreamCount, expr.Var(loop.Var))
	}})
	return []Stmt{loop}
}

// periodOf tells how a loop depends on its variable: 0 not at all, 1 modulo the number of compute
// streams, -1 otherwise.
func periodOf(loop *For) int {
	period := 0
	rewriteAll(loop.Body, &rewriter{expression: func(e expr.Expr) expr.Expr {
		rest := replaced(e, loop.Var+" % "+StreamCount, expr.Int(0))
		switch {
		case mentions(rest, loop.Var):
			period = -1
		case mentions(e, loop.Var) && period == 0:
			period = 1
		}
		return e
	}})
	return period
}
