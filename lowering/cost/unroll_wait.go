package cost

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

type (
	// group is an open group of communications over NCCL.
	group struct {
		team    *team   // whose stream carries the group
		arrives []int32 // meetings
	}
	// batch is the last call of a rank, if it is a flag or a copy that later ones can join.
	batch struct {
		open  bool
		task  int32
		work  work
		bytes int64 // that its copies move
	}
)

// wait makes the current stream wait for a communication. It does nothing if the rank takes no part in it.
func (r *rank) wait(s *hostir.Wait) error {
	if r.started[s.Handle] == nil {
		return nil
	}
	t, ok, err := r.started.Awaited(r.Issue, s)
	switch {
	case err != nil || !ok:
		return err
	case r.tasks[t].kind == joint: // the peer sets the done flag
		r.follow(r.flag(s, work{kind: FlagWait, host: r.machine.Host.Event}, r.exchanges[s.Handle].Send.Of), t)
	default:
		w := work{host: r.machine.Host.Event}
		if r.tasks[t].stream != r.current {
			w.fixed = r.machine.Device.Event
		}
		r.issue(r.current, s, w, t)
	}
	return nil
}

// closeGroup issues the open group, as one call.
func (r *rank) closeGroup(s *hostir.EndCoalescing) error {
	g := r.group
	r.group = nil
	if len(g.arrives) == 0 {
		return nil
	}
	return r.start(s.Handle, s, g.team, g.arrives...)
}
