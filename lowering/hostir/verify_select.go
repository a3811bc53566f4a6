package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// choices is how many values the index of a Select has.
func (s *Select) choices() int64 {
	if s.Parts != 0 {
		return s.Parts
	}
	return s.In.Axes[s.Axis].LocalSize()
}

// selects checks that Out is In without the axis, or with a part of it, element type and
// layout included.
func (v *verifier) selects(s *Select) {
	if s.Axis >= len(s.In.Axes) {
		v.breach(s.Pos, "range", "%s has no axis %d", s.In.Name, s.Axis)
		return
	}
	want, layout := slices.Delete(slices.Clone(s.In.Axes), s.Axis, s.Axis+1), without(order(s.In), s.Axis)
	if s.Parts != 0 {
		if s.In.Axes[s.Axis].LocalSize()%s.Parts != 0 {
			v.breach(s.Pos, "shape", "axis %d of %s has %d elements, which are not %d equal parts",
				s.Axis, s.In.Name, s.In.Axes[s.Axis].LocalSize(), s.Parts)
			return
		}
		want, layout = slices.Clone(s.In.Axes), order(s.In)
		want[s.Axis] = domain.Axis{Extent: domain.Extent{Size: s.In.Axes[s.Axis].LocalSize() / s.Parts}}
	}
	same := slices.EqualFunc(want, s.Out.Axes, func(a, b domain.Axis) bool {
		return a.Kind == b.Kind && a.Mesh == b.Mesh && a.Extent.Size == b.Extent.Size
	})
	switch {
	case !same:
		v.breach(s.Pos, "shape", "%s is %s, and what is selected of %s along axis %d is %s",
			s.Out.Name, domain.FormatAxes(s.Out.Axes), s.In.Name, s.Axis, domain.FormatAxes(want))
	case s.Out.DType != s.In.DType:
		v.breach(s.Pos, "shape", "%s is %s and %s is %s", s.Out.Name, s.Out.DType, s.In.Name, s.In.DType)
	case !slices.Equal(order(s.Out), layout):
		v.breach(s.Pos, "shape", "the layout of %s is not that of what is selected of %s along axis %d", s.Out.Name, s.In.Name, s.Axis)
	}
}

func without(order []int, axis int) []int {
	list := make([]int, 0, len(order))
	for _, a := range order {
		if a < axis {
			list = append(list, a)
		} else if a > axis {
			list = append(list, a-1)
		}
	}
	return list
}
