package domain

import "slices"

// TopK returns the k largest elements of a row in descending order, and their positions. The first of equal elements
// comes first. In a row with NaN all values are NaN, and all positions infinite. TopK computes the steps of the model's
// composite top_k one by one. So both give the same numbers in any arithmetic, even in the prover's, where max does not
// order numbers.
func (a Arithmetic) TopK(row []float64, k int) (values, positions []float64) {
	neg, equal, masked, drop := a.Unary("neg"), a.Binary("eq"), a.Binary("masked"), a.Binary("drop")
	rest, before, hits := slices.Clone(row), make([]float64, len(row)), make([]float64, len(row))
	for i := range row {
		before[i] = neg(float64(i))
	}
	ones := make([]float64, len(row))
	for i, v := range before {
		ones[i] = equal(v, v)
	}
	for range k {
		value := a.greatest(rest)
		for i, v := range rest {
			hits[i] = masked(before[i], equal(v, value))
		}
		first := a.greatest(hits)
		values, positions = append(values, value), append(positions, neg(first))
		for i, v := range before {
			others := drop(ones[i], equal(v, first))
			rest[i], before[i] = masked(rest[i], others), masked(v, others)
		}
	}
	return values, positions
}

func (a Arithmetic) greatest(row []float64) float64 {
	fold, value := a.Binary("max"), row[0]
	for _, v := range row[1:] {
		value = fold(value, v)
	}
	return value
}
