package emit

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A Wait for an earlier iteration may stand before what it waits for, whose events and flags
// have no names yet then: its node is filled at the end of the outermost loop.

// earlierNode is a Wait for an earlier iteration.
type earlierNode struct{ Body []node }

func (*earlierNode) template() string { return "stmt/earlier" }

// earlierWait is one to fill: the loops that it stands in, the outermost at the iteration that
// it is for.
type earlierWait struct {
	*hostir.Wait
	loops []loop
	node  *earlierNode
}

// waitForEarlier prints a wait for an earlier iteration, to be filled.
func (b *builder) waitForEarlier(s *hostir.Wait) ([]node, error) {
	if len(b.loops) == 0 {
		return nil, internalError(s.Pos, s.Op(), "there is no loop with an iteration %s", s.Iteration)
	}
	w := earlierWait{s, slices.Clone(b.loops), &earlierNode{}}
	w.loops[0].at = b.scope.rename(fold(s.Iteration))
	b.earlier = append(b.earlier, w)
	return b.reached(s.Handle, map[string]expr.Expr{w.loops[0].name: w.loops[0].at}, []node{w.node}), nil
}

// fillEarlier fills the waits of a loop that has ended.
func (b *builder) fillEarlier() error {
	loops, guard := b.loops, b.guard
	defer func() { b.loops, b.guard = loops, guard }()
	for _, w := range b.earlier {
		b.loops, b.guard = w.loops, b.guardOf(w.Wait, nil)
		nodes, err := b.waitFor(w.Wait)
		if err != nil {
			return err
		}
		w.node.Body = guarded(b.guard, nodes)
	}
	b.earlier = nil
	return nil
}
