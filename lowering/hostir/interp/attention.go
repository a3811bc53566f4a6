package interp

import (
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// attention returns a function that computes an Attention of the given shape.
func attention(s *hostir.Attention, shape domain.AttentionShape, out, in []*view) func() error {
	return func() error {
		data := lists.Map(in, func(v *view) []float64 { return v.read().Data })
		for i, made := range s.Kind().Run(shape, data)[:len(out)] {
			dtype, at := hostir.Defs(s)[i].DType, 0
			out[i].each(func(to int64) { out[i].data[to] = dtype.Round(made[at]); at++ })
		}
		return nil
	}
}

// coordinate returns the rank's coordinate along an axis of a mesh.
func (r *rank) coordinate(m *domain.Mesh, axis string) int64 {
	return int64(m.Coordinate(r.number, axis))
}
