package shard

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// MarkAliases lets the result of a Reshape, Broadcast, Permute or Slice share its operand's buffer, if the result is a
// temporary of the same type without a layout. None of these operations moves an element. The operand of a Reshape must
// be row-major, and the operand of a Broadcast must have no layout. A permuted view steps through the buffer in its
// operand's order, so a matmul reads it as a transposed matrix and needs no copy. A slice that is not contiguous is
// copied if a statement needs contiguous memory. If a Permute is the only reader of a result of an Attention, the
// result gets the layout in which the permuted view is row-major.
//
// Requires: no memory is allocated yet.
// Establishes: such a result is a View without a buffer, with a layout if its order is not logical.
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
			if slices.IsSorted(wholeOrder(s.In)) {
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
			if mark(s.In, s.Out) && !slices.Equal(hostir.LayoutIn(s.In, hostir.AxisMap(s)[0]), logicalOrder(s.Out)) {
				s.Out.Layout = hostir.LayoutIn(s.In, hostir.AxisMap(s)[0])
			}
		}
	}
	wholeSlices(p)
	return nil
}

// wholeOrder lists the axes that have more than one element, in the order of the tensor's layout. An axis that is split
// counts, even if each rank has one element of it, because another pass may move the whole tensor to each rank in this
// layout.
func wholeOrder(t *hostir.Tensor) []int {
	return lists.Except(hostir.Layout(t), func(axis int) bool { return t.Axes[axis].Size < 2 })
}

// layOutHeads gives a result of an Attention the layout of the Permute that is its only reader, so that the result of the
// Permute is in logical order. The result Logs, and permutes that move the last axis, are excluded.
func layOutHeads(body []hostir.Stmt) {
	readers := hostir.Readers(body)
	for _, s := range body {
		a, attends := s.(*hostir.Attention)
		for _, t := range hostir.Defs(s) {
			if !attends || t == a.Logs() || t.Role != hostir.Temp || len(readers[t]) != 1 {
				continue
			}
			live := hostir.Live(t)
			p, permutes := readers[t][0].(*hostir.Permute)
			if !permutes || len(live) != len(t.Axes) || p.Perm[len(live)-1] != len(live)-1 {
				continue // a row of a head must stay contiguous
			}
			t.Layout = slices.Clone(p.Perm)
		}
	}
}

// mark makes out a view of in, if out is a Temp of the same type without a layout. It reports whether it did.
func mark(in, out *hostir.Tensor) bool {
	if out.Role != hostir.Temp || in.DType != out.DType || out.Layout != nil {
		return false
	}
	out.Role = hostir.View
	return true
}

// wholeSlices turns the view of a Slice with gaps into a copy, if a statement needs the slice, or a view of it, as contiguous
// memory. A Reshape that makes a view needs no copy if it joins no axes across a gap.
func wholeSlices(p *hostir.Program) {
	gapped := map[*hostir.Tensor]*hostir.Tensor{} // view -> the slice with gaps that it is a view of, possibly itself
	gaps := map[*hostir.Tensor][]int{}            // view of a Slice or Reshape -> the axes that have gaps before them
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
			if isStrided(uses[0], r[0]) {
				gapped[out], gaps[out] = out, append(slices.Clone(gaps[out]), r[0].OutAxis)
			}
		}
	}
}

// reshapedGaps returns the axes of a reshape's result that have gaps before them, given these axes of its operand. It reports
// whether the reshape joins axes with a gap between them.
func reshapedGaps(r *hostir.Reshape, gaps []int) (kept []int, joins bool) {
	sizes := func(t *hostir.Tensor) (long []int64, axes []int) {
		for i, a := range t.Axes {
			if a.Size > 1 {
				long, axes = append(long, a.Size), append(axes, i)
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

// isStrided reports whether a range of an axis is not contiguous in memory.
func isStrided(t *hostir.Tensor, r hostir.Range) bool {
	return r.Size < t.Axes[r.InAxis].Size && hostir.Outside(t, r.InAxis) >= 0
}
