package passes

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/calls"
)

// stayOnCaller gives a communicator the caller's stream where that waits for each of its calls at once:
// nothing could run beside them, and going from stream to stream and back costs microseconds. The record
// behind a call stays, for the watchdog.
//
//	EventRecord(ready_[0], on caller)
//	StreamWait(ready_[0], on x_.stream)
//	NcclCall(..., on x_.stream)           ->  NcclCall(..., on caller)
//	EventRecord(done_[0], on x_.stream)       EventRecord(done_[0], on caller, watch)
//	StreamWait(done_[0], on caller)
func stayOnCaller(p *calls.Program) {
	detours, uses := map[string]int{}, map[string]int{}
	eachDetour(p.Body, func(d detour) []calls.Stmt {
		detours[d.team]++
		return d.list
	})
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		uses[teamOf(s)]++
		_, group := s.(*calls.NcclGroup)
		return !group
	})
	waits := countUses(p.Body).waits
	p.Body = eachDetour(p.Body, func(d detour) []calls.Stmt {
		if detours[d.team] != uses[d.team] || waits[d.ready.Event.Set] > 1 || waits[d.done.Event.Set] > 1 {
			return d.list
		}
		d.call.Meta().Note = d.ready.Note
		calls.RewriteAll([]calls.Stmt{d.call, d.done}, &calls.Rewriter{
			Queue: func(calls.Stream) calls.Stream { return calls.Stream{Name: calls.Caller} },
		})
		d.done.Watch = true
		return slices.DeleteFunc(d.list, func(s calls.Stmt) bool { return s == d.ready || s == d.begin || s == d.end })
	})
}

// detour is a run of statements by which the caller's stream hands over to that of a communicator for
// one call, and waits for it; names of pointers may stand between.
type detour struct {
	list        []calls.Stmt
	ready, done *calls.EventRecord
	begin, end  *calls.StreamWait
	call        calls.Stmt
	team        string
}

// eachDetour replaces each detour by what f makes of it.
func eachDetour(body []calls.Stmt, f func(detour) []calls.Stmt) []calls.Stmt {
	var out []calls.Stmt
	for len(body) > 0 {
		for _, inner := range calls.Bodies(body[0]) {
			*inner = eachDetour(*inner, f)
		}
		if d, ok := detourAt(body); ok {
			out, body = append(out, f(d)...), body[len(d.list):]
			continue
		}
		out, body = append(out, body[0]), body[1:]
	}
	return out
}

// detourAt finds the detour that a list begins with.
func detourAt(body []calls.Stmt) (d detour, ok bool) {
	var steps []calls.Stmt
	for i, s := range body {
		if _, names := s.(*calls.Declare); !names {
			steps = append(steps, s)
		}
		if len(steps) == 0 {
			return d, false
		}
		if len(steps) == 5 {
			d.list = slices.Clone(body[:i+1])
			break
		}
	}
	if len(steps) < 5 {
		return d, false
	}
	var is [4]bool
	d.ready, is[0] = steps[0].(*calls.EventRecord)
	d.begin, is[1] = steps[1].(*calls.StreamWait)
	d.call, d.team = steps[2], teamOf(steps[2])
	d.done, is[2] = steps[3].(*calls.EventRecord)
	d.end, is[3] = steps[4].(*calls.StreamWait)
	if is != [4]bool{true, true, true, true} {
		return d, false
	}
	caller, team := calls.Stream{Name: calls.Caller}, calls.Stream{Name: d.team, Team: true}
	return d, d.ready.On == caller && d.begin.On == team && d.done.On == team && d.end.On == caller &&
		d.begin.Event.Set == d.ready.Event.Set && d.end.Event.Set == d.done.Event.Set
}

// teamOf names the team of a call of NCCL; empty for other statements.
func teamOf(s calls.Stmt) string {
	switch s := s.(type) {
	case *calls.NcclCall:
		return s.Team
	case *calls.NcclGroup:
		return s.Team
	}
	return ""
}
