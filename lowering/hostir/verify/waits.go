package verify

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// earlierWait is a Wait for an earlier iteration. In the loop body, the communication may follow the Wait.
type earlierWait struct {
	*hostir.Wait
	loops []*hostir.For // the enclosing loops
}

// start records that a communication has started, and in which loops.
func (f *flow) start(handle string) {
	f.set(started, handle, true)
	f.started[handle] = slices.Clone(f.loops)
}

// within reports whether enclosing starts with loops that have the variables of loops, in the same order. It does not compare
// their bounds: the interpreter (hostir/interp) reports a wait for an iteration in which the communication was not started.
func within(enclosing, loops []*hostir.For) bool {
	if len(loops) > len(enclosing) {
		return false
	}
	for i, l := range loops {
		if enclosing[i].Var != l.Var {
			return false
		}
	}
	return true
}

func (f *flow) wait(s *hostir.Wait) {
	if s.Iteration == nil {
		f.waitFor(s, f.loops)
		return
	}
	if _, unknown := f.bounds.of(s.Iteration); unknown != "" {
		f.breach(s, "scope", "the iteration %s uses %s, which has no value here", s.Iteration, unknown)
	}
	if len(f.loops) == 0 {
		f.breach(s, "wait", "%s is waited for in an iteration of no loop", s.Handle)
		return
	}
	f.earlier = append(f.earlier, earlierWait{s, slices.Clone(f.loops)})
}

// waitFor checks a Wait inside the given loops, and marks the communication as waited for.
func (f *flow) waitFor(s *hostir.Wait, loops []*hostir.For) {
	switch {
	case f.facts[fact{waitedFor, s.Handle}]:
		f.breach(s, "wait", "%s is waited for twice", s.Handle)
	case !f.facts[fact{started, s.Handle}]:
		f.breach(s, "wait", "%s is not started before it is waited for", s.Handle)
		return
	case !within(loops, f.started[s.Handle]):
		f.breach(s, "wait", "%s is started in loops that the wait is not in, and in no loops like them", s.Handle)
	}
	f.set(started, s.Handle, false)
	f.set(waitedFor, s.Handle, true)
}
