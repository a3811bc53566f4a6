package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
)

// stayOnCaller moves the calls of a communicator to the caller's stream if that stream waits for each of them
// immediately. Nothing could run at the same time, and a change of streams costs microseconds. The record after a call
// stays, for the watchdog.
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
		return !calls.Is[*calls.NcclGroup](s)
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

// detour is a run of statements that makes the stream of a communicator wait for the caller's stream, issues one call
// on it, and makes the caller's stream wait for the call. Declarations of pointers may be among them.
type detour struct {
	list        []calls.Stmt
	ready, done *calls.EventRecord
	begin, end  *calls.StreamWait
	call        calls.Stmt
	team        string
}

// eachDetour replaces each detour by the result of f.
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

// detourAt returns the detour at the beginning of a list. ok is false if there is none.
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

// teamOf returns the team of an NCCL call; empty for other statements.
func teamOf(s calls.Stmt) string {
	switch s := s.(type) {
	case *calls.NcclCall:
		return s.Team
	case *calls.NcclGroup:
		return s.Team
	}
	return ""
}
