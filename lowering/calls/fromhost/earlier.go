package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A Wait for an earlier iteration may stand before what it waits for, whose events and flags
// have no names yet then: its place is filled at the end of the outermost loop.

// earlierWait is one to fill: the loops that it stands in, the outermost at the iteration that
// it is for, and Ifs without a condition: one in its place, which gets the condition of the ranks and,
// within that, the one of the peer, which only a rank of the mesh has; and one for the wait itself.
type earlierWait struct {
	*hostir.Wait
	loops       []loop
	on          calls.Stream
	place, wait *calls.If
	under       string       // the ranks whose condition its place stands under
	forPeers    []calls.Stmt // the wait, under the condition of its peer
}

// waitForEarlier leaves a place for a wait for an earlier iteration.
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

// fillEarlier fills the waits of a loop that has ended.
func (b *builder) fillEarlier() error {
	loops, guard, current := b.loops, b.guard, b.current
	defer func() { b.loops, b.guard, b.current = loops, guard, current }()
	for _, w := range b.earlier {
		b.loops, b.guard, b.current = w.loops, b.guardOf(w.Wait, nil), w.on
		list, err := b.waitFor(w.Wait)
		if err != nil {
			return err
		}
		b.note(w.Wait, list)
		if b.guard == w.under {
			b.guard = "" // it is asked for around the place
		}
		w.wait.Body, w.place.Body = list, guarded(b.guard, w.forPeers)
	}
	b.earlier = nil
	return nil
}
