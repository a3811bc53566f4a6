package verify

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// In a lowered program each rank runs a statement on its parts of tensors, unless the statement may be a communication between
// ranks: a Set, or a Reduce over a split axis. The following checks prove that the parts of local statements fit each other as
// the whole tensors do.

// stretches reports whether axis a of an operand has one element, which applies to all elements of axis b of the result.
func stretches(s hostir.Stmt, a, b domain.Axis) bool {
	if a.Size != 1 {
		return false
	}
	switch s.(type) {
	case *hostir.Binary, *hostir.Fused, *hostir.Gather, *hostir.Matmul, *hostir.Linear, *hostir.BlockLinear, *hostir.Attention:
		return true
	default:
		return b.Size == 1
	}
}

// whole checks that a rank has all elements along the axes of an operand that the result lacks, such as summed axes.
func (v *verifier) whole(s hostir.Stmt, t *hostir.Tensor, row []int) {
	if hostir.Is[*hostir.Reshape](s) || !v.lowered || hostir.MayMove(s) {
		return
	}
	for i, j := range row {
		if over := hostir.SplitOver(t.Axes[i]); j == hostir.Unmapped && over != "" {
			v.breach(s, "local", "%s sums over axis %d of %s, of which each rank has a part along %s", hostir.Op(s), i, t.Name, over)
		}
	}
}

// made checks that each axis of the result comes from an axis of some operand. Exceptions are a Reshape, axes of one element, the
// axis of a Slice or Concat, the last axis of a TopK or BlockLinear, axes of positions or a concat in a fused kernel,
// and the axes that Attention.OwnAxes lists. Positions and concats may only be along Serial axes. In a lowered program,
// the other exceptions, except a Reshape and axes of one element, must not be split over ranks. The method operand
// compares the extents.
func (v *verifier) made(s hostir.Stmt, rows [][]int) {
	if hostir.Is[*hostir.Reshape](s) {
		return
	}
	out, ranges := hostir.Result(s), hostir.Ranges(s)
	fused, _ := s.(*hostir.Fused)
	attention, attends := s.(*hostir.Attention)
	for _, j := range hostir.Live(out) {
		if out.Axes[j].Size == 1 || fused != nil && fused.Spans(j) {
			continue
		}
		if attends && slices.Contains(attention.OwnAxes(), j) {
			if v.lowered && hostir.SplitOver(out.Axes[j]) != "" {
				v.breach(s, "local", "axis %d of %s is split over ranks, and an attention needs all of it", j, out.Name)
			}
			continue
		}
		if len(ranges) > 0 && ranges[0].OutAxis == j {
			if v.lowered && hostir.SplitOver(out.Axes[j]) != "" {
				v.breach(s, "local", "axis %d of %s, along which %s takes parts, is split over ranks", j, out.Name, hostir.Op(s))
			}
			continue
		}
		if makesColumns(s) && j == columnsOf(out) {
			if v.lowered && hostir.SplitOver(out.Axes[j]) != "" {
				v.breach(s, "local", "axis %d of %s, of which %s makes all columns, is split over ranks", j, out.Name, hostir.Op(s))
			}
			continue
		}
		has := false
		for k, t := range hostir.Uses(s) {
			i := slices.Index(rows[k], j)
			has = has || i >= 0 && (t.Axes[i].Size > 1 || !stretches(s, t.Axes[i], out.Axes[j]))
		}
		if !has {
			v.breach(s, "shape", "axis %d of %s has %d elements, and no operand of %s has them",
				j, out.Name, out.Axes[j].Size, hostir.Op(s))
		}
	}
}

// makesColumns reports whether the last axis of the result matches no axis of an operand.
func makesColumns(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.TopK, *hostir.BlockLinear:
		return true
	default:
		return false
	}
}

// columnsOf returns the last axis of a result.
func columnsOf(out *hostir.Tensor) int {
	live := hostir.Live(out)
	return live[len(live)-1]
}

// regroups checks that a reshape keeps elements on their ranks: each mesh axis splits both sides into the same runs of elements.
func (v *verifier) regroups(s *hostir.Reshape) {
	if !v.lowered {
		return
	}
	in, out := runs(s.In), runs(s.Out)
	for i, a := range s.In.Axes {
		if over := hostir.SplitOver(a); over != "" && in[over] != out[over] && a.Size > 1 {
			v.breach(s, "local", "axis %d of %s is split over %s, and %s has no axis with the same elements that is", i, s.In.Name, over,
				s.Out.Name)
		}
	}
	for j, b := range s.Out.Axes {
		if over := hostir.SplitOver(b); over != "" && in[over] == 0 && b.Size > 1 {
			v.breach(s, "local", "axis %d of %s is split over %s, and %s is not split over it", j, s.Out.Name, over, s.In.Name)
		}
	}
}

// runs returns, for each mesh axis that splits t, the distance between the parts of adjacent ranks: the number of
// elements of t after the split axis, in row-major order.
func runs(t *hostir.Tensor) map[string]int64 {
	found, behind := map[string]int64{}, int64(1)
	for _, i := range slices.Backward(hostir.Live(t)) {
		if over := hostir.SplitOver(t.Axes[i]); over != "" {
			found[over] = behind
		}
		behind *= t.Axes[i].Size
	}
	return found
}

// present checks that every rank that runs a statement of a lowered program has the part of the operand that its part of the
// result needs.
func (v *verifier) present(s hostir.Stmt, t *hostir.Tensor) {
	out := hostir.Result(s)
	if !v.lowered || hostir.MayMove(s) || t.Mesh == nil || out.Mesh == nil || t.Mesh.Same(out.Mesh) {
		return
	}
	for _, r := range out.Mesh.Ranks {
		if !slices.Contains(t.Mesh.Ranks, r) {
			v.breach(s, "local", "rank %d computes %s and has no part of %s", r, out.Name, t.Name)
			return
		}
		for _, a := range t.Axes {
			over := hostir.SplitOver(a)
			if over != "" && out.Mesh.Axis(over) != nil && t.Mesh.Coordinate(r, over) != out.Mesh.Coordinate(r, over) {
				v.breach(s, "local", "rank %d computes %s and has another part of %s: their meshes place it differently along %s",
					r, out.Name, t.Name, over)
				return
			}
		}
	}
}
