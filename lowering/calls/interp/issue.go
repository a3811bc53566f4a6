package interp

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/tasks"
)

func (r *rank) list(body []calls.Stmt) error {
	for _, s := range body {
		if err := r.statement(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *rank) statement(s calls.Stmt) error {
	switch s := s.(type) {
	case *calls.For, *calls.If:
		return r.control(s)
	case *calls.Let, *calls.Declare, *calls.DeclareStream, *calls.BeginCall:
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

func (r *rank) control(s calls.Stmt) error {
	switch s := s.(type) {
	case *calls.For:
		count, err := r.eval(s, s.Count)
		if err != nil {
			return err
		}
		for i := s.First; i < count; i++ {
			r.env[s.Var] = i
			if err := r.list(s.Body); err != nil {
				return err
			}
		}
		delete(r.env, s.Var)
	case *calls.If:
		holds, err := r.holds(s)
		if err != nil {
			return err
		}
		if holds {
			return r.list(s.Body)
		}
		return r.list(s.Else)
	}
	return nil
}

// holds reports whether all conditions of a branch hold.
func (r *rank) holds(s *calls.If) (bool, error) {
	if s.Guard != "" && !r.machine.program.Holds(s.Guard, r.number) {
		return false, nil
	}
	if s.Reach != nil {
		number, err := r.eval(s, s.Reach)
		if err != nil {
			return false, err
		}
		peer := r.machine.rank(number)
		if peer == nil {
			return false, r.fail(s, "there is no rank %d", number)
		}
		if (peer.node == r.node) == s.Apart {
			return false, nil
		}
	}
	if s.Cond == nil {
		return true, nil
	}
	v, err := r.eval(s, s.Cond)
	return v != 0, err
}

// name runs the statements that only name things.
func (r *rank) name(s calls.Stmt) error {
	switch s := s.(type) {
	case *calls.Let:
		v, ok := r.machine.program.Number(s, r.env, r.number)
		if ok {
			r.env[s.Name] = v
		}
	case *calls.DeclareStream:
		on := calls.Stream{Name: calls.Copies, Index: s.Index}
		stream, err := r.on(s, on)
		r.alias[s.Name] = stream
		return err
	case *calls.Declare:
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
		if n, _ := r.env.Eval(d.Count); i < 0 || i >= n {
			return nil, "", r.fail(s, "there is no event %d among %d", i, n)
		}
		return stream, fmt.Sprint(e.Set, " ", i), nil
	}
	return nil, "", r.fail(s, "no events are named %s", e.Set)
}
