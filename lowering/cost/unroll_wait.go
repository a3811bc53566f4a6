package cost

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

type (
	// underway is what a communication started, by the iteration of the loops that it stands in.
	underway struct {
		loops []*hostir.For
		tasks map[int64]int32
	}
	// group is an open group of communications over NCCL.
	group struct {
		team    *team   // whose stream carries it
		arrives []int32 // meetings
	}
	// batch is the last call of a rank, if it is flags or copies that adjacent ones may be one with.
	batch struct {
		open  bool
		task  int32
		work  work
		bytes int64 // that its copies move
	}
)

// note says what a Wait for the communication of this iteration waits for.
func (r *rank) note(handle string, t int32) {
	c := r.handles[handle]
	if c == nil {
		c = &underway{slices.Clone(r.loops), map[int64]int32{}}
		r.handles[handle] = c
	}
	c.tasks[r.iteration(c.loops)] = t
}

// iteration numbers the iteration at hand of some loops. Loops over the same values give the same
// number, whatever their counts are.
func (r *rank) iteration(loops []*hostir.For) int64 {
	const most = 1<<20 + 7 // iterations of a loop
	number := int64(0)
	for _, l := range loops {
		number = number*most + r.env[l.Var]
	}
	return number
}

// wait makes the current stream follow what a communication started; nothing if it took no part.
func (r *rank) wait(s *hostir.Wait) error {
	c := r.handles[s.Handle]
	if c == nil {
		return nil
	}
	iteration, err := r.awaited(s, c.loops)
	t, ok := c.tasks[iteration]
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

// awaited is the iteration of some loops that a Wait is for.
func (r *rank) awaited(s *hostir.Wait, loops []*hostir.For) (int64, error) {
	if s.Iteration == nil || len(loops) == 0 {
		return r.iteration(loops), nil
	}
	value, err := r.eval(s, s.Iteration)
	if err != nil {
		return 0, err
	}
	name := loops[0].Var
	now, looping := r.env[name]
	defer func() {
		if r.env[name] = now; !looping {
			delete(r.env, name)
		}
	}()
	r.env[name] = value
	return r.iteration(loops), nil
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
