package hostir

import "slices"

// Range is a run of elements that a Slice or a Concat takes from an operand. It has Size elements. It starts at From along the
// operand's logical axis InAxis, and at To along the result's axis OutAxis.
type Range struct {
	InAxis, OutAxis int
	From, To, Size  int64
}

// Ranges lists the elements that a Slice or a Concat takes from each operand; it is nil for other statements. An axis that does
// not exist is Unmapped. AxisMap does not map the axes of a range: each rank has all of them.
func Ranges(s Stmt) []Range {
	switch s := s.(type) {
	case *Slice:
		axis := counterpart(s.In, s.Axis, s.Out)
		if axis == Unmapped {
			return []Range{{InAxis: s.Axis, OutAxis: axis}}
		}
		return []Range{{s.Axis, axis, s.Start.Size, 0, s.Out.Axes[axis].Size}}
	case *Concat:
		list, to := make([]Range, len(s.In)), int64(0)
		for i, t := range s.In {
			list[i] = Range{InAxis: counterpart(s.Out, s.Axis, t), OutAxis: s.Axis, To: to}
			if axis := list[i].InAxis; axis != Unmapped {
				list[i].Size = t.Axes[axis].Size
			}
			to += list[i].Size
		}
		return list
	default:
		return nil
	}
}

// counterpart returns the axis of other with the same position among live axes as axis has in t, or Unmapped.
func counterpart(t *Tensor, axis int, other *Tensor) int {
	live, others := slices.Index(Live(t), axis), Live(other)
	if live < 0 || live >= len(others) {
		return Unmapped
	}
	return others[live]
}

// besides is like aligned(in, out, 0, 0), but does not map the axes of a range.
func besides(in, out *Tensor, r Range) []int {
	row := aligned(in, out, 0, 0)
	for i, j := range row {
		if i == r.InAxis || j == r.OutAxis {
			row[i] = Unmapped
		}
	}
	return row
}
