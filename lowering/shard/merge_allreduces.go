package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// MergeAllreduces replaces a reduction over ranks whose result is scattered, and then gathered along the same mesh axis, by
// one allreduce, if operations run as a whole (preset: eager or none). A pipeline keeps the scatter and the gather, because
// it gathers one part while it reduces the next.
//
// Requires: no tensor has an axis of kind Stream.
// Establishes: with these presets, no temporary is scattered by a reduction and then only gathered along the
// same mesh axis.
//
//	before: R = Reduce(sum, P, axis 0); C = Set(R)     P [DIDx(D), D, m, N], R [r(D), DIDx(D), m, N], C [D, m, N]
//	after:  C = Reduce(sum, P, axis 0)
func MergeAllreduces(p *hostir.Program) error {
	if !p.Choices.Whole() {
		return nil
	}
	readers, sums := hostir.Readers(p.Body), map[*hostir.Tensor]*hostir.Reduce{}
	for _, s := range p.Body {
		if r, ok := s.(*hostir.Reduce); ok && r.Out.Role == hostir.Temp {
			sums[r.Out] = r
		}
	}
	gone := map[*hostir.Tensor]bool{}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		set, ok := s.(*hostir.Set)
		if !ok || sums[set.In] == nil || len(readers[set.In]) != 1 || !isAllreduce(sums[set.In], set) {
			body = append(body, s)
			continue
		}
		sums[set.In].Out = set.Out
		gone[set.In] = true
	}
	p.Body = body
	p.Remove(gone)
	return nil
}

// isAllreduce reports whether a reduction over one mesh axis scatters its result along this mesh axis, and a Set only gathers it again.
func isAllreduce(r *hostir.Reduce, gather *hostir.Set) bool {
	sum, whole := Describe(r), Describe(gather)
	return len(sum.Shifts) == 1 && len(whole.Shifts) == 1 && SameMesh(r.In, r.Out) && SameMesh(gather.In, gather.Out) &&
		sum.Shifts[0].Reduced && sum.Shifts[0].To != NoAxis && whole.Shifts[0].Mesh == sum.Shifts[0].Mesh &&
		whole.Shifts[0].From == sum.Shifts[0].To && whole.Shifts[0].To == NoAxis
}
