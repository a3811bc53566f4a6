package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// leavesWorkBefore reports whether the loop around the first task that follows a transfer begins with work
// that need not wait, and holds all that follows the transfer. The Wait then stands in the loop, and each
// iteration waits on its own stream. The transfer has no iterations of its own there. What an owner of shared
// memory waits for are flags, once.
//
//	before: Wait(gather_2); For s: Z_s = Linear(U_s, W1_all); P_s = Linear(Z_s, W2_all)
//	after:  For s: Z_s = Linear(U_s, W1_all); Wait(gather_2); P_s = Linear(Z_s, W2_all)
func (w *waits) leavesWorkBefore(t, next *Task, depth int) bool {
	to := w.places[next]
	if t.setsReady() || depth >= len(to.around) || to.around[depth].loop() == nil || !isAround(t.Loops, to.around[:depth]) {
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

// isAround reports whether frames go over the same iterations as all of some loops.
func isAround(loops []*hostir.For, frames []frame) bool {
	return !slices.ContainsFunc(loops, func(loop *hostir.For) bool {
		return !slices.ContainsFunc(frames, func(f frame) bool { return f.loop() != nil && f.loop().Var == loop.Var })
	})
}
