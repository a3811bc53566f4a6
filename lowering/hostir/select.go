package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// Indices returns the number of valid values of a Select's index. They begin at 0.
func (s *Select) Indices() int64 {
	if s.Parts != 0 {
		return s.Parts
	}
	return s.In.Axes[s.Axis].LocalSize()
}

// Owns reports whether a Select takes a rank's local shard from a tensor that every rank has whole.
func (s *Select) Owns() bool {
	return s.Parts != 0 && s.Part().Kind == domain.Device
}

// Part returns the axis of Out that a Select with Parts makes: In's whole axis split over ranks, or else a serial axis with the
// extent of one part.
func (s *Select) Part() domain.Axis {
	in := s.In.Axes[s.Axis]
	live := slices.Index(Live(s.In), s.Axis)
	if axes := Live(s.Out); live >= 0 && live < len(axes) {
		out := s.Out.Axes[axes[live]]
		if out.Kind == domain.Device && out.Size == in.Size && out.LocalSize() == in.LocalSize()/s.Parts {
			return out
		}
	}
	return domain.Axis{Extent: domain.Extent{Size: in.LocalSize() / s.Parts}}
}
