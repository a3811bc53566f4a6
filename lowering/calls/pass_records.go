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
	p.Body = Edit(p.Body, func(s Stmt) []Stmt {
		loop, ok := s.(*For)
		if !ok {
			return []Stmt{s}
		}
		list := hoistRecords(p, loop)
		after := sinkJoins(p, loop)
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

// hoistRecords takes out of a loop what it would record again.
func hoistRecords(p *Program, loop *For) []Stmt {
	var out []Stmt
	loop.Body = slices.DeleteFunc(loop.Body, func(s Stmt) bool {
		r, ok := s.(*EventRecord)
		if !ok || mentionsOf(r.On.Index, loop.Var) || worksOn(loop.Body, r.On) || mentionsOf(r.Event.Index, loop.Var) && !oneEvent(p, loop, r) {
			return false
		}
		out = append(out, s)
		return true
	})
	return out
}

// oneEvent makes the events that a statement records in the iterations of a loop one, where only the
// same iteration waits for each.
func oneEvent(p *Program, loop *For, r *EventRecord) bool {
	set, index := r.Event.Set, r.Event.Index.String()
	var waits []*StreamWait
	Walk(loop.Body, func(s Stmt) bool {
		if w, ok := s.(*StreamWait); ok && w.Event.Set == set && w.Event.Index.String() == index {
			waits = append(waits, w)
		}
		return true
	})
	if r.Watch || recordsOf(p.Body, set) != 1 || waitsFor(p.Body, set) != len(waits) {
		return false
	}
	r.Event.Index, r.Note = expr.Int(0), "" // which was for what follows it
	for _, w := range waits {
		w.Event.Index = expr.Int(0)
	}
	for _, d := range p.Events {
		if d.Name == set {
			d.Count = expr.Int(1)
		}
	}
	return true
}

func mentionsOf(e expr.Expr, name string) bool { return e != nil && mentions(e, name) }

// worksOn reports whether statements give a stream work, or make it wait. Of two compute streams it is
// not known whether they are one.
func worksOn(body []Stmt, on Stream) bool {
	found := false
	Walk(body, func(s Stmt) bool {
		if _, record := s.(*EventRecord); !record {
			for _, used := range streamsOf(s) {
				found = found || used.Name == on.Name && used.Team == on.Team
			}
		}
		return !found
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
func sinkJoins(p *Program, loop *For) *For {
	var joins, rest []Stmt
	var on *StreamWait // one of them
	several := false   // events or streams
	for i := 0; i < len(loop.Body); i++ {
		if i+1 < len(loop.Body) && isJoin(loop, loop.Body[i], loop.Body[i+1]) {
			joins = append(joins, loop.Body[i], loop.Body[i+1])
			i++
			if w, ok := loop.Body[i].(*StreamWait); ok {
				several = several || waitsFor(p.Body, w.Event.Set) > 1 || on != nil && on.On != w.On
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

// waitsFor counts the statements that wait for events of a set.
func waitsFor(body []Stmt, set string) int {
	count := 0
	Walk(body, func(s Stmt) bool {
		if w, ok := s.(*StreamWait); ok && w.Event.Set == set {
			count++
		}
		return true
	})
	return count
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
