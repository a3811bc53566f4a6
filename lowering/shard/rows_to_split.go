package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// split is an axis of rows that is two axes: At, of as many elements as there are ranks along By, and At+1. Was is how many
// rows there are in all.
type split struct {
	At  int
	By  domain.Axis
	Was domain.Extent
}

// rowsToSplit finds tensors that split rows begin at, and which of their axes are the rows.
func rowsToSplit(body []hostir.Stmt) map[*hostir.Tensor]split {
	begin, makers := map[*hostir.Tensor]split{}, map[*hostir.Tensor]hostir.Stmt{}
	for _, s := range body {
		if out := hostir.Result(s); out != nil {
			makers[out] = s
		}
		switch s := s.(type) {
		case *hostir.Reduce:
			made, at := summedRows(s, makers)
			for _, t := range made {
				begin[t] = at
			}
		case *hostir.Reshape:
			if at, found := mergedRows(s); found {
				begin[s.Out] = at
			}
		}
	}
	return begin
}

// summedRows gives what GEMMs make of a sum over ranks, and its rows: of a sum that is whole on each of them the outermost ones, else
// those that a reshape makes the axis of, of which the sum leaves a part on each.
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

// madeByGEMMs lists a tensor that a GEMM makes, along rows that can be split, or that is the sum of two such ones, with these.
func madeByGEMMs(t *hostir.Tensor, at int, by domain.Axis, makers map[*hostir.Tensor]hostir.Stmt) []*hostir.Tensor {
	maker := makers[t]
	if maker == nil || !isOpen(t) || !splittable(t, at, by) {
		return nil
	}
	if sum, adds := maker.(*hostir.Binary); adds && sum.Fn == "add" && hostir.SameAxes(sum.A, t) && hostir.SameAxes(sum.B, t) {
		a, b := madeByGEMMs(sum.A, at, by, makers), madeByGEMMs(sum.B, at, by, makers)
		if len(a) == 0 || len(b) == 0 {
			return nil
		}
		return append(append(a, b...), t)
	}
	if !hostir.IsGEMM(maker) {
		return nil
	}
	rows := hostir.AxisMap(maker)
	if !slices.Contains(rows[0], at) || slices.Contains(rows[1], at) {
		return nil
	}
	return []*hostir.Tensor{t}
}

// outermostRows is the axis of a sum's operand that is outermost in its result, or none: ranks take turns along that one alone
// without a copy.
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

// mergedRows gives the axis that a reshape makes of one of ranks and the rows behind it.
func mergedRows(s *hostir.Reshape) (split, bool) {
	i := slices.IndexFunc(s.In.Axes, func(a domain.Axis) bool { return hostir.SplitOver(a) != "" })
	at := joined(s.In, i, s.Out)
	if at == NoAxis || !isOpen(s.Out) || !SameMesh(s.In, s.Out) || splitBy(s.Out, s.In.Axes[i].Mesh) != NoAxis {
		return split{}, false
	}
	return split{at, s.In.Axes[i], s.Out.Axes[at].Extent}, splittable(s.Out, at, s.In.Axes[i])
}

// joined is the axis of a reshaped tensor that is an axis of it and the one behind that, or none.
func joined(t *hostir.Tensor, axis int, reshaped *hostir.Tensor) int {
	if axis < 0 || axis+1 >= len(t.Axes) {
		return NoAxis
	}
	size := t.Axes[axis].Extent.Size * t.Axes[axis+1].Extent.Size
	for j, a := range reshaped.Axes {
		if a.Extent.Size == size && inside(reshaped, j) == inside(t, axis+1) {
			return j
		}
	}
	return NoAxis
}

// inside is how many elements lie behind each one of an axis.
func inside(t *hostir.Tensor, axis int) int64 {
	n := int64(1)
	for _, a := range t.Axes[axis+1:] {
		if a.Kind != domain.Reduction {
			n *= a.Extent.Size
		}
	}
	return n
}

// splittable reports whether an axis is whole and has some rows for each of several ranks.
func splittable(t *hostir.Tensor, axis int, by domain.Axis) bool {
	a := t.Axes[axis]
	return by.Extent.Size > 1 && a.Kind == domain.Serial && a.Extent.Size > by.Extent.Size && a.Extent.Size%by.Extent.Size == 0
}
