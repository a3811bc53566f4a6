package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// Indices is how many values the index of a Select has.
func (s *Select) Indices() int64 {
	if s.Parts != 0 {
		return s.Parts
	}
	return s.In.Axes[s.Axis].LocalSize()
}

// Owns reports whether a Select gives a rank its local shard of what lies whole on every rank.
func (s *Select) Owns() bool {
	return s.Parts != 0 && s.Part().Kind == domain.Device
}

// Part is the axis of which Out has a part: a plain one, or the whole axis of In split over ranks.
func (s *Select) Part() domain.Axis {
	in := s.In.Axes[s.Axis]
	live := slices.Index(Live(s.In), s.Axis)
	if axes := Live(s.Out); live >= 0 && live < len(axes) {
		out := s.Out.Axes[axes[live]]
		if out.Kind == domain.Device && out.Extent.Size == in.Extent.Size && out.LocalSize() == in.LocalSize()/s.Parts {
			return out
		}
	}
	return domain.Axis{Extent: domain.Extent{Size: in.LocalSize() / s.Parts}}
}
