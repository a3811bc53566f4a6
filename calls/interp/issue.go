package interp

import (
	"github.com/hirgen/hirgen/calls"
)

// visit issues a statement, unless an earlier statement of this call failed.
func (r *rank) visit(s calls.Stmt) {
	if !r.grouped {
		r.used = nil
	}
	if r.err == nil {
		r.failed(r.statement(s))
	}
}

func (r *rank) statement(s calls.Stmt) error {
	switch s := s.(type) {
	case *calls.BeginCall:
		_, _, ok := r.walk.Begin(s)
		return r.unless(ok)
	case *calls.EventRecord, *calls.StreamWait, *calls.Delay:
		return r.order(s)
	case *calls.NcclCall, *calls.NcclGroup:
		return r.nccl(s)
	case *calls.FlagWrite, *calls.FlagWait, *calls.MemOpBatch, *calls.Transfer, *calls.PeerSum:
		return r.shared(s)
	default:
		return r.compute(s)
	}
}

// order issues a record of an event, a wait for an event, or a delay.
func (r *rank) order(s calls.Stmt) error {
	switch s := s.(type) {
	case *calls.EventRecord:
		event, on, ok := r.walk.Event(s, s.Event, s.On)
		if !ok {
			return r.err
		}
		r.uses(r, s.Event.Set)
		r.events[event] = r.issue(s, r.stream(on), nil)
	case *calls.StreamWait:
		event, on, ok := r.walk.Event(s, s.Event, s.On)
		if !ok {
			return r.err
		}
		r.uses(r, s.Event.Set)
		if r.events[event] == nil {
			return r.fail(s, "the event was not recorded in this call")
		}
		r.issue(s, r.stream(on), nil, r.events[event])
	case *calls.Delay:
		on, err := r.on(s, s.On)
		if err != nil {
			return err
		}
		r.issue(s, on, nil)
	}
	return nil
}
