package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// leavesWorkBefore reports whether the Wait for a transfer can move into the loop at the given depth around
// next, the first task that depends on the transfer. That requires that the loop begins with work that need
// not wait, and contains all dependents of the transfer. Each iteration then waits on its own stream. All
// loops of the transfer must be around that loop. A transfer that sets a ready flag never qualifies, because
// its done flag is waited for only once.
//
//	before: Wait(gather_2); For s: Z_s = Linear(U_s, W1_all); P_s = Linear(Z_s, W2_all)
//	after:  For s: Z_s = Linear(U_s, W1_all); Wait(gather_2); P_s = Linear(Z_s, W2_all)
func (w *waits) leavesWorkBefore(t, next *Task, depth int) bool {
	to := w.places[next]
	if t.setsReady() || depth >= len(to.around) || to.around[depth].loop() == nil || !containLoops(t.Loops, to.around[:depth]) {
		return false
	}
	loop := to.around[depth].stmt
	inside := func(other *Task) bool {
		around := w.places[other].around
		return depth < len(around) && around[depth].stmt == loop
	}
	for _, member := range w.members(t) {
		if slices.ContainsFunc(w.graph.out[member.id], func(e *Edge) bool { return !inside(e.To) }) {
			return false
		}
	}
	return slices.ContainsFunc(w.order[:to.number], inside)
}

// containLoops reports whether the frames contain a loop for each of the given loops, over the same variable.
func containLoops(loops []*hostir.For, frames []frame) bool {
	return !slices.ContainsFunc(loops, func(loop *hostir.For) bool {
		return !slices.ContainsFunc(frames, func(f frame) bool { return f.loop() != nil && f.loop().Var == loop.Var })
	})
}
