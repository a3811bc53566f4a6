package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// forkCapture makes streams wait for the caller's stream at the start of a call that is captured as a CUDA graph. It
// does so for streams that do something before they wait for a captured stream. The order of the work may not need such
// a wait, for example if the data comes from a peer. But without a wait the work is not captured, and a later wait for
// that work ends the capture with an error.
func forkCapture(p *calls.Program) {
	if !p.Graph {
		return
	}
	f := &forks{info: map[calls.Stream]calls.Info{}}
	w := issue.New(p, nil)
	for _, interNode := range []bool{false, true} {
		for _, rank := range p.Ranks() {
			f.rank(w.Rank(int32(rank)), interNode)
		}
	}
	if len(f.order) == 0 {
		return
	}
	event := calls.Event{Set: "forked_", Index: expr.Int(0)}
	caller := f.info[f.order[0]]
	list := []calls.Stmt{&calls.EventRecord{Info: caller, Event: event, On: calls.Stream{Name: calls.Caller}}}
	list[0].Meta().Note = "a graph has the streams that are forked from the caller's"
	for _, on := range f.order {
		info := f.info[on]
		info.Why = "a CUDA graph has the streams that are forked from the caller's, and this one does something before it waits"
		if on.Name != calls.Compute {
			list = append(list, &calls.StreamWait{Info: info, Event: event, On: on})
			continue
		}
		each := calls.Stream{Index: expr.Var(calls.StreamVar)}
		list = append(list, &calls.For{
			Info: calls.Info{Pos: info.Pos}, Var: calls.StreamVar, Count: expr.Var(calls.StreamCount),
			Body: []calls.Stmt{&calls.StreamWait{Info: info, Event: event, On: each}},
		})
	}
	p.Events = append(p.Events, &calls.Events{Name: event.Set, Label: "forked", Count: expr.Int(1), Where: caller.Label})
	p.Body = slices.Insert(p.Body, afterNames(p.Body), list...)
}

// afterNames returns the index of the first statement other than a Let, a DeclareStream or a BeginCall.
func afterNames(body []calls.Stmt) int {
	for i, s := range body {
		switch s.(type) {
		case *calls.Let, *calls.DeclareStream, *calls.BeginCall:
		default:
			return i
		}
	}
	return len(body)
}

// forks lists the streams to fork, in the order of their first use. All compute streams count as one.
type forks struct {
	order []calls.Stream
	info  map[calls.Stream]calls.Info // position and label of the first statement that needs the fork
}

// rank issues a call on a rank, and adds the streams that need a fork on this rank. interNode says which branches with
// a PeerAccess it takes.
func (f *forks) rank(r *issue.Rank, interNode bool) {
	captured, recorded := map[int16]bool{issue.Caller: true}, map[int32]bool{}
	r.Accesses = func(s *calls.If) bool { return s.InterNode == interNode }
	r.Run(r.Calls.Body, func(s calls.Stmt) {
		switch s := s.(type) {
		case *calls.StreamWait:
			if event, on, _ := r.Event(s, s.Event, s.On); recorded[event] {
				captured[on] = true
				return
			}
		case *calls.EventRecord:
			event, _, _ := r.Event(s, s.Event, s.On)
			recorded[event] = true
		}
		for _, on := range calls.StreamsOf(s) {
			if n, ok := r.On(s, on); ok && !captured[n] {
				captured[n] = true
				f.add(on, s, r.IsCompute(n))
			}
		}
	})
}

func (f *forks) add(on calls.Stream, s calls.Stmt, compute bool) {
	if compute {
		on = calls.Stream{Name: calls.Compute}
	}
	if _, known := f.info[on]; !known {
		f.info[on] = calls.Info{Pos: s.Meta().Pos, Label: s.Meta().Label}
		f.order = append(f.order, on)
	}
}
