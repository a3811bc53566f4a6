package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// want splits the rows of tensors that every rank would compute as a whole although their readers need only the rows of their
// rank. An example is the mean square of a norm's operand, which each rank has whole, in the gradient of that norm. Split
// rows begin at such tensors.
func (r *rowSplitter) want() {
	body, splits := r.program.Body, map[*hostir.Tensor]split{}
	along := make([]*split, len(body)) // the split rows along which each statement runs; nil: none
	for i, s := range body {
		at, found := r.follows(s, r.maps[i], splits)
		if !found || hostir.Is[*hostir.Reshape](s) && !isOpen(hostir.Result(s)) {
			continue
		}
		if along[i] = &at; isOpen(hostir.Result(s)) {
			splits[hostir.Result(s)] = at
		}
	}
	r.wanted = map[*hostir.Tensor]bool{}
	asked := map[*hostir.Tensor]*split{} // the split that all readers so far want; nil: one reads whole rows
	for i := len(body) - 1; i >= 0; i-- {
		s, out := body[i], hostir.Result(body[i])
		if ask := asked[out]; along[i] == nil && ask != nil && r.mayWant(s, *ask) {
			along[i], r.begin[out], r.wanted[out] = ask, *ask, true
		}
		for k, t := range hostir.Uses(s) {
			ask := r.asks(r.maps[i], k, t, along[i])
			if before, known := asked[t]; known && (before == nil || ask == nil || before.At != ask.At || !before.By.Alike(ask.By)) {
				ask = nil
			}
			asked[t] = ask
		}
	}
}

// asks returns the split that a statement along split rows needs for operand k, or nil if it does not run along rows of the
// operand.
func (r *rowSplitter) asks(rows [][]int, k int, t *hostir.Tensor, at *split) *split {
	if at == nil || len(rows) <= k {
		return nil
	}
	for i, j := range rows[k] {
		if j == at.At && t.Axes[i].Size == at.Was.Size {
			return &split{i, at.By, at.Was}
		}
	}
	return nil
}

// mayWant reports whether a statement computes each row of its result separately, and these rows may be split over the
// ranks.
func (r *rowSplitter) mayWant(s hostir.Stmt, at split) bool {
	out := hostir.Result(s)
	switch s := s.(type) {
	case *hostir.Unary, *hostir.Binary, *hostir.Cast, *hostir.Broadcast:
	case *hostir.Reduce:
		if hostir.SplitOver(s.In.Axes[s.Axis]) != "" {
			return false
		}
	default:
		return false
	}
	return isOpen(out) && splitBy(out, at.By.Mesh) == NoAxis && splittable(out, at.At, at.By)
}
