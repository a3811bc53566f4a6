package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// early finds the transfers of a loop that can all be issued before it: those that follow nothing
// in it. A copy between shared memories is early only if what lends the memory is: every rank lends
// before it waits for what others lend, so that no two ranks wait for each other.
func (o *overlap) early(loop *hostir.For) map[*Task]bool {
	early := map[*Task]bool{}
	for _, t := range o.graph.inside[loop] {
		if t.IsTransfer() && o.leads(t) && !o.follows(t, loop) {
			early[t] = true
		}
	}
	for _, t := range o.graph.inside[loop] {
		if t.copies() && !early[o.graph.of[t.Exchange.Owner()]] || t.Group != nil && !o.allOf(t.Group, early) {
			delete(early, t)
		}
	}
	return early
}

// leads reports whether the schedule asks for a transfer to be issued ahead.
func (o *overlap) leads(*Task) bool { return o.program.Choices.Transfers == "ahead" }

// follows reports whether a task follows one of a loop, in whatever iteration.
func (o *overlap) follows(t *Task, loop *hostir.For) bool {
	return slices.ContainsFunc(o.graph.in[t.id], func(e *Edge) bool { return slices.Contains(e.From.Loops, loop) })
}

// allOf reports whether all members of a group are in a set.
func (o *overlap) allOf(group *hostir.EndCoalescing, set map[*Task]bool) bool {
	return !slices.ContainsFunc(o.graph.members[group], func(t *Task) bool { return !set[t] })
}

// issue gives the loops in which early transfers run, before the loop that they leave. Copies
// between shared memories, and what lends for them, have a stream of their own, which follows the
// one at hand; the others run on the stream of their communicator.
func (o *overlap) issue(loop *hostir.For, early map[*Task]bool, on hostir.StreamRef) []hostir.Stmt {
	if len(early) == 0 {
		return nil
	}
	lends := o.only(loop, early, (*Task).lends)
	copies := o.only(loop, early, (*Task).copies)
	others := o.only(loop, early, func(t *Task) bool { return t.Exchange == nil })
	var list []hostir.Stmt
	if lends != nil || copies != nil {
		list = append(list,
			&hostir.SetCurrentStream{
				Info:   hostir.InfoFrom(loop, "all transfers are issued up front, on a stream of their own"),
				Stream: hostir.StreamRef{Var: hostir.CopyStream},
			},
			&hostir.Synchronize{Info: hostir.InfoFrom(loop, ""), Stream: on})
		for _, l := range []*hostir.For{lends, copies} {
			if l != nil {
				list = append(list, l)
			}
		}
		list = append(list, &hostir.SetCurrentStream{Info: hostir.InfoFrom(loop, ""), Stream: on})
		for _, s := range list {
			o.forks[s] = list[0]
		}
	}
	if lends != nil {
		o.renameViews(lends)
	}
	if others != nil {
		others.Note = "all transfers are issued up front; each statement below waits for its own data only"
		list = append(list, others)
	}
	return list
}

// only is a loop over the same iterations as one, with some of the early tasks alone; nil if there
// are none.
func (o *overlap) only(loop *hostir.For, early map[*Task]bool, which func(*Task) bool) *hostir.For {
	return o.project(loop, func(t *Task) bool { return early[t] && which(t) })
}

// without is the rest of a loop that some tasks leave; nil if it is nothing.
func (o *overlap) without(loop *hostir.For, early map[*Task]bool) *hostir.For {
	return o.project(loop, func(t *Task) bool { return !early[t] })
}
