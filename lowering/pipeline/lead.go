package pipeline

import (
	"maps"
	"math"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// early finds the transfers of a loop that can all be issued before it: those that follow nothing
// in it. A copy between shared memories is early only if the ready flag of the memory is: every rank sets
// its ready flags before it waits for those of others, so that no two ranks wait for each other.
func (o *overlap) early(loop *hostir.For) map[*Task]bool {
	early := map[*Task]bool{}
	for _, t := range o.graph.inside[loop] {
		if o.lead(t) >= loop.Count.Size-loop.First && o.most(t, loop) == unbounded {
			early[t] = true
		}
	}
	for _, t := range o.graph.inside[loop] {
		if t.copies() && !early[o.graph.of[t.Exchange.Owner()]] || t.Group != nil && !o.allOf(t.Group, early) {
			delete(early, t)
		}
	}
	maps.Copy(o.led, early)
	return early
}

// unbounded is the lead of a transfer that can be issued before its loop.
const unbounded = math.MaxInt64

// lead is by how many iterations the schedule asks for a transfer to be issued ahead.
func (o *overlap) lead(t *Task) int64 {
	if !t.IsTransfer() {
		return 0
	}
	value := o.program.Choices.Of(hostir.CommunicationOf(t.Stmt), schedule.Lead)
	if value == schedule.All {
		return unbounded
	}
	return schedule.Number(value)
}

// leads reports whether the schedule asks for a transfer to be issued ahead.
func (o *overlap) leads(t *Task) bool { return o.lead(t) > 0 }

// most is by how many iterations of a loop a transfer can be issued ahead: by one less than there are to the nearest
// work in the loop that it follows. Of another transfer it has to await the end, which takes place in its own iteration.
func (o *overlap) most(t *Task, loop *hostir.For) int64 {
	most, depth := int64(unbounded), slices.Index(t.Loops, loop)
	for _, e := range o.graph.in[t.id] {
		if !slices.Contains(e.From.Loops, loop) {
			continue
		}
		for _, d := range e.Distances {
			most = min(most, d[depth]-1)
		}
		if e.From.IsTransfer() && e.From != t {
			most = 0
		}
	}
	return max(most, 0)
}

// allOf reports whether all members of a group are in a set.
func (o *overlap) allOf(group *hostir.EndCoalescing, set map[*Task]bool) bool {
	return !slices.ContainsFunc(o.graph.members[group], func(t *Task) bool { return !set[t] })
}

// issue gives the loops in which early transfers run, before the loop that they leave. Copies
// between shared memories, and the ready flags for them, have a stream of their own, which follows the
// one at hand; the others run on the stream of their communicator.
func (o *overlap) issue(loop *hostir.For, early map[*Task]bool, on hostir.StreamRef, what string) []hostir.Stmt {
	if len(early) == 0 {
		return nil
	}
	ready := o.part(loop, func(t *Task) bool { return early[t] && t.setsReady() })
	copies := o.part(loop, func(t *Task) bool { return early[t] && t.copies() })
	others := o.part(loop, func(t *Task) bool { return early[t] && t.Exchange == nil })
	var list []hostir.Stmt
	if ready != nil || copies != nil {
		queue := hostir.StreamRef{Copies: true}
		list = append(list, follows(queue, on, hostir.InfoFrom(loop, what+" issued up front, on a stream of their own"), o.whyCopies(early)))
		for _, l := range []*hostir.For{ready, copies} {
			if l != nil {
				hostir.RunOn(queue, l)
				list = append(list, l)
			}
		}
		for _, s := range list {
			o.forks[s], o.around[s] = list[0], on
		}
	}
	if others != nil {
		hostir.RunOn(on, others)
		others.Note = what + " issued up front; each statement below waits for its own data only"
		list = append(list, others)
	}
	return list
}

// part is a loop over the same iterations as one, with some of its tasks alone; nil if there are none.
func (o *overlap) part(loop *hostir.For, which func(*Task) bool) *hostir.For {
	return o.Project(loop, func(s hostir.Stmt, list []hostir.Stmt) bool { return o.belongs(s, list, which) })
}

// belongs reports whether a statement of a list goes with some tasks: what opens and closes a group
// goes with its members, and handles are exchanged where a ready flag is set first.
func (o *overlap) belongs(s hostir.Stmt, list []hostir.Stmt, which func(*Task) bool) bool {
	switch s := s.(type) {
	case *hostir.StartCoalescing:
		members, _ := hostir.Group(list[slices.Index(list, hostir.Stmt(s))+1:])
		return len(members) > 0 && which(o.graph.of[members[0]])
	case *hostir.EndCoalescing:
		return slices.ContainsFunc(o.graph.members[s], which)
	case *hostir.ShareMemHandles:
		return slices.ContainsFunc(o.graph.owners[s], which)
	}
	t := o.graph.of[s]
	return t == nil || which(t)
}
