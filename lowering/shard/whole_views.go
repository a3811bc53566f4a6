package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// WholeViews makes the Stream axes of views Serial if no pipeline reads the views, and they are not views of another view with a
// Stream axis. A view of a whole buffer moves nothing. Slices that a statement reads as a whole after the pipeline would be copied
// one by one, to a separate buffer.
//
// Requires: layouts are final, and statements read operands without copies where they can.
//
//	before: P = Matmul(A, B)    P [Stream(D), M, N]; V = Permute(P), V [Stream(D), N, M] view; O = Attention(V, ...)
//	after:  V [D, N, M] view
func WholeViews(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	whole := readWhole(p)
	for _, s := range p.Body {
		t := hostir.Result(s)
		if !whole[t] {
			continue
		}
		if of := hostir.Uses(s)[0]; of.Role == hostir.View && hostir.StreamAxis(of) >= 0 {
			delete(whole, t) // its slices are views, too
			continue
		}
		for i := range t.Axes {
			if t.Axes[i].Kind == domain.Stream {
				t.Axes[i].Kind = domain.Serial
			}
		}
	}
	return nil
}

// readWhole finds the views with a Stream axis that are read, and whose readers all have results without a Stream axis. A
// reader may also be another such view. Views that a movement between ranks reads are excluded, because it may move
// slices.
func readWhole(p *hostir.Program) map[*hostir.Tensor]bool {
	whole, read, sliced := map[*hostir.Tensor]bool{}, map[*hostir.Tensor]bool{}, map[*hostir.Tensor]bool{}
	for _, s := range slices.Backward(p.Body) {
		t := hostir.Result(s)
		if t != nil && t.Role == hostir.View && hostir.MakesView(s) && hostir.StreamAxis(t) >= 0 && read[t] && !sliced[t] {
			whole[t] = true
		}
		for _, u := range hostir.Uses(s) {
			read[u] = true
			sliced[u] = sliced[u] || Reshards(s) || t != nil && hostir.StreamAxis(t) >= 0 && !whole[t]
		}
	}
	return whole
}
