package interp

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// attention returns the work of an Attention of the given shape.
func attention(s *hostir.Attention, shape domain.AttentionShape, out, in []*view) func() error {
	return func() error {
		data := make([][]float64, len(in))
		for i, v := range in {
			data[i] = v.read().Data
		}
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

// results returns the buffers that a statement writes.
func (r *rank) results(s hostir.Stmt) ([]*view, error) {
	var out []*view
	for _, t := range hostir.Defs(s) {
		v, err := r.view(s, t)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
