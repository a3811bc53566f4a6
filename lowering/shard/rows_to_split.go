package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// split is an axis of rows that becomes two axes, At and At+1. At has one element for each rank along By, an axis of kind
// Device. Was is the extent of the rows before the split.
type split struct {
	At  int
	By  domain.Axis
	Was domain.Extent
}

// rowsToSplit finds the tensors at which split rows begin because of a sum over ranks (summedRows) or a reshape (mergedRows),
// and how each is split. It leaves out sums that fuse: exchange applies to. rowSplitter.want adds other tensors.
func rowsToSplit(p *hostir.Program) map[*hostir.Tensor]split {
	begin, makers := map[*hostir.Tensor]split{}, hostir.Makers(p.Body)
	for _, s := range p.Body {
		switch s := s.(type) {
		case *hostir.Reduce:
			if !exchanges(p, s) || p.Choices.Of(s.Out.Name, schedule.Fuse) != schedule.Exchange {
				made, at := summedRows(s, makers)
				for _, t := range made {
					begin[t] = at
				}
			}
		case *hostir.Reshape:
			if at, found := mergedRows(s); found {
				begin[s.Out] = at
			}
		}
	}
	return begin
}

// summedRows returns the results of GEMMs that are summed over ranks, with the results of elementwise operations between a
// GEMM and the sum, and their rows. If the sum is whole on each rank, the rows are its outermost axis. If the sum leaves a
// part on each rank, a reshape made the scattered axis from the rows. The list is nil for other statements.
func summedRows(s *hostir.Reduce, makers map[*hostir.Tensor]hostir.Stmt) ([]*hostir.Tensor, split) {
	by, t := s.In.Axes[s.Axis], s.In
	if s.Fn != "sum" || hostir.SplitOver(by) == "" || !SameMesh(s.In, s.Out) {
		return nil, split{}
	}
	at := NoAxis
	if m, reshaped := makers[s.In].(*hostir.Reshape); reshaped && splitBy(s.Out, by.Mesh) != NoAxis {
		t, at = m.In, joined(m.Out, slices.Index(hostir.AxisMap(s)[0], splitBy(s.Out, by.Mesh)), m.In)
	} else if splitBy(s.Out, by.Mesh) == NoAxis {
		at = outermostRows(s)
	}
	if at == NoAxis {
		return nil, split{}
	}
	return madeByGEMMs(t, at, by, makers), split{at, by, t.Axes[at].Extent}
}

// madeByGEMMs lists t if a GEMM makes it along rows that can be split. If elementwise operations make t from such tensors, it lists
// these and t. Otherwise it returns nil.
func madeByGEMMs(t *hostir.Tensor, at int, by domain.Axis, makers map[*hostir.Tensor]hostir.Stmt) []*hostir.Tensor {
	maker := makers[t]
	if maker == nil || !isOpen(t) || !splittable(t, at, by) {
		return nil
	}
	if from := elementwiseFrom(maker); len(from) > 0 {
		var list []*hostir.Tensor
		for _, in := range from {
			made := madeByGEMMs(in, at, by, makers)
			if len(made) == 0 {
				return nil
			}
			list = append(list, made...)
		}
		return append(list, t)
	}
	if !hostir.IsGEMM(maker) {
		return nil
	}
	if rows := hostir.AxisMap(maker); !slices.Contains(rows[0], at) || weightsHave(maker, rows, at) {
		return nil
	}
	return []*hostir.Tensor{t}
}

// elementwiseFrom returns the operands from which an elementwise operation computes its result: one operand with the axes of the
// result, while others are broadcast, or both operands of an add. It returns nil for other statements.
func elementwiseFrom(s hostir.Stmt) (from []*hostir.Tensor) {
	adds := false
	switch s := s.(type) {
	case *hostir.Unary, *hostir.Cast:
	case *hostir.Binary:
		adds = s.Fn == "add"
	default:
		return nil
	}
	for _, in := range hostir.Uses(s) {
		if hostir.SameAxes(in, hostir.Result(s)) {
			from = append(from, in)
		}
	}
	if len(from) > 1 && !adds {
		return nil
	}
	return from
}

// weightsHave reports whether the second operand of a GEMM has an axis of the result with more than one element.
func weightsHave(gemm hostir.Stmt, rows [][]int, axis int) bool {
	i := slices.Index(rows[1], axis)
	return i >= 0 && hostir.Uses(gemm)[1].Axes[i].Size > 1
}

// outermostRows returns the axis of a sum's operand that is the first axis of its result with several local elements. It
// is NoAxis if that axis is not Serial. Only parts along this axis need no copy.
func outermostRows(s *hostir.Reduce) int {
	for i, j := range hostir.AxisMap(s)[0] {
		if j != hostir.Unmapped && s.Out.Axes[j].LocalSize() > 1 {
			if s.Out.Axes[j].Kind != domain.Serial {
				return NoAxis
			}
			return i
		}
	}
	return NoAxis
}

// mergedRows returns the axis that a reshape makes by merging an axis that is split over ranks with the rows after it. It
// returns false if there is none or the axis cannot be split.
func mergedRows(s *hostir.Reshape) (split, bool) {
	i := slices.IndexFunc(s.In.Axes, func(a domain.Axis) bool { return hostir.SplitOver(a) != "" })
	at := joined(s.In, i, s.Out)
	if at == NoAxis || !isOpen(s.Out) || !SameMesh(s.In, s.Out) || splitBy(s.Out, s.In.Axes[i].Mesh) != NoAxis {
		return split{}, false
	}
	return split{at, s.In.Axes[i], s.Out.Axes[at].Extent}, splittable(s.Out, at, s.In.Axes[i])
}

// joined returns the axis of a reshaped tensor that merges an axis of t and the next axis, or NoAxis.
func joined(t *hostir.Tensor, axis int, reshaped *hostir.Tensor) int {
	if axis < 0 || axis+1 >= len(t.Axes) {
		return NoAxis
	}
	size := t.Axes[axis].Size * t.Axes[axis+1].Size
	for j, a := range reshaped.Axes {
		if a.Size == size && inside(reshaped, j) == inside(t, axis+1) {
			return j
		}
	}
	return NoAxis
}

// inside returns the number of elements inside of an axis: the product of the extents after it, without reduced axes.
func inside(t *hostir.Tensor, axis int) int64 {
	n := int64(1)
	for _, a := range t.Axes[axis+1:] {
		if a.Kind != domain.Reduction {
			n *= a.Size
		}
	}
	return n
}

// splittable reports whether an axis is Serial and splits evenly over the ranks along by, of which there must be several.
func splittable(t *hostir.Tensor, axis int, by domain.Axis) bool {
	a := t.Axes[axis]
	return by.Size > 1 && a.Kind == domain.Serial && a.Size >= by.Size && a.Size%by.Size == 0
}
