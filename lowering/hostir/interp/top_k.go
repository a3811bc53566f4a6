package interp

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// topK returns a function that computes a TopK, row by row.
func topK(s *hostir.TopK, out []*view, in *view) func() error {
	last := lastAxis(s.In)
	columns, k := in.Size[last], out[0].Size[lastAxis(s.Out[0])]
	return func() error {
		var values, positions []float64
		rows := in.read().Data
		for ; len(rows) > 0; rows = rows[columns:] {
			v, p := domain.Singles.TopK(rows[:columns], int(k))
			values, positions = append(values, v...), append(positions, p...)
		}
		for i, made := range [][]float64{values, positions} {
			at := 0
			out[i].each(func(to int64) { out[i].data[to] = s.Out[i].DType.Round(made[at]); at++ })
		}
		return nil
	}
}
