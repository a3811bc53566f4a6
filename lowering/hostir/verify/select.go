package verify

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// selects checks that Out is In without the axis, or with a part of it, with the same element type and layout.
func (v *verifier) selects(s *hostir.Select) {
	if s.Axis >= len(s.In.Axes) {
		v.breach(s, "range", "%s has no axis %d", s.In.Name, s.Axis)
		return
	}
	want, layout := lists.Without(s.In.Axes, s.Axis), hostir.DropAxis(hostir.Layout(s.In), s.Axis)
	axes, lies := s.Out.Axes, hostir.Layout(s.Out)
	if s.Parts != 0 {
		if s.In.Axes[s.Axis].LocalSize()%s.Parts != 0 {
			v.breach(s, "shape", "axis %d of %s has %d elements, which are not %d equal parts",
				s.Axis, s.In.Name, s.In.Axes[s.Axis].LocalSize(), s.Parts)
			return
		}
		want = slices.Clone(s.In.Axes)
		want[s.Axis] = s.Part()
		want, layout = alive(want, hostir.Layout(s.In))
		axes, lies = alive(axes, lies)
	}
	same := slices.EqualFunc(want, axes, func(a, b domain.Axis) bool {
		sameKind := (a.Kind == domain.Reduction) == (b.Kind == domain.Reduction) // an axis may be Stream in one and Serial in the other
		return sameKind && hostir.SplitOver(a) == hostir.SplitOver(b) && a.Size == b.Size
	})
	switch {
	case !same:
		v.breach(s, "shape", "%s is %s, and what is selected of %s along axis %d is %s",
			s.Out.Name, domain.FormatAxes(s.Out.Axes), s.In.Name, s.Axis, domain.FormatAxes(want))
	case s.Out.DType != s.In.DType:
		v.breach(s, "shape", "%s is %s and %s is %s", s.Out.Name, s.Out.DType, s.In.Name, s.In.DType)
	case !slices.Equal(long(axes, lies), long(axes, layout)):
		v.breach(s, "shape", "the layout of %s is not that of what is selected of %s along axis %d", s.Out.Name, s.In.Name, s.Axis)
	}
}

// localPart checks that a Select of a rank's local shard from a whole tensor takes the part at the rank's
// coordinate.
func (f *flow) localPart(s *hostir.Select) {
	if !s.Owns() || s.In.Mesh == nil {
		return
	}
	axis := s.Part().Mesh
	f.bounds.each(s.Index, s.In.Mesh.Ranks, func(rank int, index int64) bool {
		coordinate := s.In.Mesh.Coordinate(rank, axis)
		if index != int64(coordinate) {
			f.breach(s, "local", "%s of rank %d, whose coordinate along %s is %d, is part %d of %s", s.Out.Name, rank, axis, coordinate,
				index, s.In.Name)
		}
		return index == int64(coordinate)
	})
}

// alive returns axes and layout without reduced axes.
func alive(axes []domain.Axis, layout []int) ([]domain.Axis, []int) {
	for i := len(axes) - 1; i >= 0; i-- {
		if axes[i].Kind == domain.Reduction {
			axes, layout = lists.Without(axes, i), hostir.DropAxis(layout, i)
		}
	}
	return axes, layout
}
