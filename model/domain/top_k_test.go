package domain

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTopK(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name                   string
		row, values, positions []float64
	}{
		{"equal elements", []float64{1, 3, 2, 3}, []float64{3, 3, 2}, []float64{1, 3, 2}},
		{"infinities", []float64{-inf, 0, inf, -inf}, []float64{inf, 0, -inf}, []float64{2, 1, 0}},
		{"NaN", []float64{1, nan, 2, 3}, []float64{nan, nan, nan}, []float64{inf, inf, inf}},
	} {
		t.Run(c.name, func(t *testing.T) {
			values, positions := Singles.TopK(c.row, 3)
			if diff := cmp.Diff(append(c.values, c.positions...), append(values, positions...), cmpopts.EquateNaNs()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
