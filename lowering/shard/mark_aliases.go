package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MarkAliases lets a Reshape, Broadcast, Permute or Slice whose result is not an output share
// its operand's buffer: none of them moves an element. A permuted view steps through the
// buffer in its operand's order: what a matmul reads so is a transposed matrix, not a
// copy. A slice that is not contiguous is copied where something needs contiguous memory.
//
// Requires: nothing is allocated yet.
// Establishes: such a result is a View, with its layout where that is not logical, and
// gets no buffer.
//
//	before: R = Permute(A, perm [1, 0])       tensor R: bf16 [K, M], temp
//	after:  R = Permute(A, perm [1, 0])       tensor R: bf16 [K, M], view, layout [1, 0]
func MarkAliases(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	layOutHeads(p.Body)
	for _, s := range p.Body {
		switch s := s.(type) {
		case *hostir.Reshape:
			if s.In.Layout == nil {
				mark(s.In, s.Out)
			}
		case *hostir.Broadcast:
			if s.In.Layout == nil {
				mark(s.In, s.Out)
			}
		case *hostir.Slice:
			if len(s.In.Axes) == len(s.Out.Axes) && mark(s.In, s.Out) {
				s.Out.Layout = slices.Clone(s.In.Layout)
			}
		case *hostir.Permute:
			if mark(s.In, s.Out) && !slices.Equal(carried(s), logicalOrder(s.Out)) {
				s.Out.Layout = carried(s)
			}
		}
	}
	wholeSlices(p)
	return nil
}

// layOutHeads lays out the results of an Attention as the Permute that alone reads them has them, so that what
// that gives is in its logical order.
func layOutHeads(body []hostir.Stmt) {
	readers := map[*hostir.Tensor][]hostir.Stmt{}
	for _, s := range body {
		for _, t := range hostir.Uses(s) {
			readers[t] = append(readers[t], s)
		}
	}
	for _, s := range body {
		a, attends := s.(*hostir.Attention)
		for _, t := range hostir.Defs(s) {
			if !attends || t == a.Logs() || t.Role != hostir.Temp || len(readers[t]) != 1 {
				continue
			}
			live := hostir.Live(t)
			p, permutes := readers[t][0].(*hostir.Permute)
			if !permutes || len(live) != len(t.Axes) || p.Perm[len(live)-1] != len(live)-1 {
				continue // rows of a head stay in one run
			}
			t.Layout = slices.Clone(p.Perm)
		}
	}
}

// mark makes out a view if it is the program's own.
func mark(in, out *hostir.Tensor) bool {
	if out.Role != hostir.Temp || in.DType != out.DType || out.Layout != nil {
		return false
	}
	out.Role = hostir.View
	return true
}

// carried is the order in which the result of a Permute steps through its operand's
// buffer.
func carried(s *hostir.Permute) []int {
	row := hostir.AxisMap(s)[0]
	order := make([]int, 0, len(row))
	for _, i := range hostir.Layout(s.In) {
		if row[i] != hostir.Unmapped {
			order = append(order, row[i])
		}
	}
	return order
}

// wholeSlices copies what a Slice takes with gaps, and something needs as contiguous memory, be
// it as a view of that view. A reshape steps over gaps where it joins nothing across them.
func wholeSlices(p *hostir.Program) {
	gapped := map[*hostir.Tensor]*hostir.Tensor{} // view -> the slice that it is one of
	gaps := map[*hostir.Tensor][]int{}            // of a view in logical order: the axes that gaps are in front of
	for _, s := range p.Body {
		out, uses := hostir.Result(s), hostir.Uses(s)
		r, reshapes := s.(*hostir.Reshape)
		kept, joins := []int(nil), true
		if reshapes && out.Role == hostir.View {
			kept, joins = reshapedGaps(r, gaps[r.In])
		}
		for _, t := range uses {
			if of := gapped[t]; of != nil && NeedsWholeSlices(p, s) && joins {
				of.Role = hostir.Temp
			}
		}
		if out == nil || out.Role != hostir.View {
			continue
		}
		gapped[out], gaps[out] = gapped[uses[0]], kept
		if r := hostir.Ranges(s); len(r) == 1 {
			gaps[out] = gaps[uses[0]]
			if hasGaps(uses[0], r[0]) {
				gapped[out], gaps[out] = out, append(slices.Clone(gaps[out]), r[0].OutAxis)
			}
		}
	}
}

// reshapedGaps are the axes of the result of a reshape that gaps are in front of, given those of its operand. It
// reports whether it joins axes with a gap between them.
func reshapedGaps(r *hostir.Reshape, gaps []int) (kept []int, joins bool) {
	sizes := func(t *hostir.Tensor) (long []int64, axes []int) {
		for i, a := range t.Axes {
			if a.Extent.Size > 1 {
				long, axes = append(long, a.Extent.Size), append(axes, i)
			}
		}
		return long, axes
	}
	in, mine := sizes(r.In)
	out, others := sizes(r.Out)
	groups, ok := hostir.Regrouped(out, in)
	before := -1
	for _, g := range groups {
		for _, gap := range gaps {
			joins = joins || mine[0] < gap && gap <= mine[g.In-1]
			if before < gap && gap <= mine[0] {
				kept = append(kept, others[0])
			}
		}
		before = mine[g.In-1]
		mine, others = mine[g.In:], others[g.Out:]
	}
	return kept, joins || !ok
}

// hasGaps reports whether a range of an axis is no run of memory.
func hasGaps(t *hostir.Tensor, r hostir.Range) bool {
	return r.Size < t.Axes[r.InAxis].Extent.Size && hostir.Outside(t, r.InAxis) >= 0
}
