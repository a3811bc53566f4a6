package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// WholeViews takes views out of pipelines that nothing in a pipeline reads: a view of a whole buffer moves nothing, while
// slices that are read as a whole behind the pipeline would be copied one by one, to a buffer of their own.
//
// Requires: layouts are final, and what can read its operands as they lie does so.
// Establishes: a view that only operations on whole tensors read has no Stream axis.
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

// readWhole finds the views with a Stream axis that only operations without one read, by themselves or through such views. What moves
// between ranks may do so in slices.
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
