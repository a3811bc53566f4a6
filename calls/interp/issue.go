package interp

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

func (r *rank) statement(s calls.Stmt) error {
	if !r.grouped {
		r.used = nil
	}
	switch s := s.(type) {
	case *calls.Declare, *calls.DeclareStream, *calls.BeginCall:
		return r.name(s)
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

// accesses reports whether a peer is on this rank's node or, for an inter-node branch, on another node.
func (r *rank) accesses(s *calls.If, number int64) (bool, error) {
	peer := r.machine.rank(number)
	if peer == nil {
		return false, r.fail(s, "there is no rank %d", number)
	}
	return (peer.node == r.node) != s.InterNode, nil
}

// name runs the statements that only name or count things. Naming a thing does not count as a use.
func (r *rank) name(s calls.Stmt) error {
	defer func(before int) { r.used = r.used[:before] }(len(r.used))
	switch s := s.(type) {
	case *calls.DeclareStream:
		on := calls.Stream{Name: calls.Copies, Index: s.Index}
		stream, err := r.on(s, on)
		r.alias[s.Name] = stream
		return err
	case *calls.Declare:
		if s.Guard != "" && !r.machine.program.Holds(s.Guard, r.number) {
			r.named[s.Name] = place{} // a null pointer on this rank
			return nil
		}
		value := s.Value
		if s.Cond != nil {
			holds, err := r.eval(s, s.Cond)
			if err != nil {
				return err
			}
			if holds == 0 {
				value = s.Else
			}
		}
		at, err := r.at(s, value)
		r.named[s.Name] = at
		return err
	case *calls.BeginCall:
		r.begun[s.Share]++
	}
	return nil
}

// order runs the statements that order streams.
func (r *rank) order(s calls.Stmt) error {
	switch s := s.(type) {
	case *calls.EventRecord:
		on, key, err := r.event(s, s.On, s.Event)
		if err != nil {
			return err
		}
		r.events[key] = r.issue(s, on, nil)
	case *calls.StreamWait:
		on, key, err := r.event(s, s.On, s.Event)
		if err != nil {
			return err
		}
		if r.events[key] == nil {
			return r.fail(s, "the event was not recorded in this call")
		}
		r.issue(s, on, nil, r.events[key])
	case *calls.Delay:
		on, err := r.on(s, s.On)
		if err != nil {
			return err
		}
		r.issue(s, on, nil)
	}
	return nil
}

func (r *rank) event(s calls.Stmt, on calls.Stream, e calls.Event) (*tasks.Stream, string, error) {
	stream, err := r.on(s, on)
	if err != nil {
		return nil, "", err
	}
	i, err := r.eval(s, e.Index)
	if err != nil {
		return nil, "", err
	}
	for _, d := range r.machine.program.Events {
		if d.Name != e.Set {
			continue
		}
		r.uses(r, d.Name)
		if n, _ := r.env.Eval(d.Count); i < 0 || i >= n {
			return nil, "", r.fail(s, "there is no event %d among %d", i, n)
		}
		return stream, fmt.Sprint(e.Set, " ", i), nil
	}
	return nil, "", r.fail(s, "no events are named %s", e.Set)
}
