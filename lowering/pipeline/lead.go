package pipeline

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// early finds the transfers of a loop that are issued before it. Their lead must cover all iterations, and they
// must depend on no work in the loop. A group is early only if all of its members are. A copy over CUDA IPC is
// early only if the task that sets the ready flag of its exchange is early too. Every rank then sets its ready
// flags before it waits for the ready flags of its peers, so no two ranks wait for each other.
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

// lead returns how many iterations ahead the schedule issues a transfer. It returns unbounded for lead: all, and 0
// for lead: none and for tasks that are not transfers.
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

// leads reports whether the schedule issues a transfer ahead.
func (o *overlap) leads(t *Task) bool { return o.lead(t) > 0 }

// most returns how many iterations of a loop ahead a transfer can be issued. This is one less than the
// distance to the nearest work in the loop that the transfer depends on, but not less than 0. most returns
// unbounded if there is no such work, and 0 if the transfer depends on another transfer of the loop, whose end
// it awaits in its own iteration.
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
	return lists.AllIn(o.graph.members[group], set)
}

// issue builds the loops that run early transfers before loop, from which these transfers are removed. It returns
// nil without early transfers. Copies over CUDA IPC and their ready flags run on the copy stream, which waits for
// the current stream (on). Other transfers are issued to the current stream, and run on the streams of their
// communicators. what names the iterations whose transfers are issued. If works is set, other work remains in
// loop, and notes explain the overlap with this work.
func (o *overlap) issue(loop *hostir.For, early map[*Task]bool, on hostir.StreamRef, what string, works bool) []hostir.Stmt {
	if len(early) == 0 {
		return nil
	}
	ready := o.part(loop, func(t *Task) bool { return early[t] && t.setsReady() })
	copies := o.part(loop, func(t *Task) bool { return early[t] && t.copies() })
	others := o.part(loop, func(t *Task) bool { return early[t] && t.Exchange == nil })
	var list []hostir.Stmt
	for _, l := range []*hostir.For{copies, others} {
		if l != nil && works {
			const note = "%s are issued first, so that transfer %s + 1 overlaps with work %[2]s, ahead of transfers that follow this work"
			l.Note = fmt.Sprintf(note, what, loop.Var)
		}
	}
	if ready != nil || copies != nil {
		queue, note := hostir.StreamRef{Copies: true}, calls.TransfersWait
		if ready != nil {
			ready.Note = "ready flags are set first, since peers wait for them"
		}
		list = append(list, follows(queue, on, hostir.InfoFrom(loop, note), o.whyCopies(early)))
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
		list = append(list, others)
	}
	return list
}

// part returns a copy of a loop with only some of its tasks, as Project does; nil if there are none.
func (o *overlap) part(loop *hostir.For, which func(*Task) bool) *hostir.For {
	return o.Project(loop, func(s hostir.Stmt, list []hostir.Stmt) bool { return o.belongs(s, list, which) })
}

// belongs reports whether a statement of a list goes with the selected tasks. The statements that open and
// close a group go with its members. The exchange of IPC handles goes with the tasks that set ready flags of
// the shared memory. Other statements without a task always belong.
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
