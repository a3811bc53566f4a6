package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A Wait for an earlier iteration may precede the communication in the loop. Its events and flags then have no names
// yet. fillEarlier completes such waits at the end of the outermost loop.

// earlierWait is a wait to complete. The first of its loops is set to the iteration that it waits for. place is a
// placeholder among the emitted statements: an If without a condition, whose Body becomes forPeers, within a guard for
// the ranks that wait. forPeers has the condition on the peer, which only a rank of the mesh can evaluate. It contains
// the If wait, whose Body becomes the wait.
type earlierWait struct {
	*hostir.Wait
	loops       []loop
	on          calls.Stream
	place, wait *calls.If
	under       string       // the guard around place; empty: all ranks
	forPeers    []calls.Stmt // the If wait, under the condition on its peer
}

// waitForEarlier returns a placeholder for a wait for an earlier iteration.
func (b *builder) waitForEarlier(s *hostir.Wait) ([]calls.Stmt, error) {
	if len(b.loops) == 0 {
		return nil, internalError(s, "there is no loop with an iteration %s", s.Iteration)
	}
	w := earlierWait{Wait: s, loops: slices.Clone(b.loops), on: b.current, under: b.guard, place: &calls.If{}, wait: &calls.If{}}
	w.loops[0].at = b.scope.Rename(expr.Fold(s.Iteration))
	w.forPeers = b.onlyWithPeers(s.Handle, map[string]expr.Expr{w.loops[0].name: w.loops[0].at}, []calls.Stmt{w.wait})
	b.earlier = append(b.earlier, w)
	return []calls.Stmt{w.place}, nil
}

// fillEarlier completes the waits of an outermost loop that has ended.
func (b *builder) fillEarlier() {
	loops, guard, current := b.loops, b.guard, b.current
	defer func() { b.loops, b.guard, b.current = loops, guard, current }()
	for _, w := range b.earlier {
		b.loops, b.guard, b.current = w.loops, b.guardOf(w.Wait, nil), w.on
		list := must(b.waitFor(w.Wait))
		b.note(w.Wait, list)
		if b.guard == w.under {
			b.guard = "" // place is already within this guard
		}
		w.wait.Body, w.place.Body = list, guarded(b.guard, w.forPeers)
	}
	b.earlier = nil
}
