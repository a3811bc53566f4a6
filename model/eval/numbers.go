package eval

import "github.com/hirgen/hirgen/model/domain"

// Numbers is the arithmetic of an evaluation.
type Numbers struct {
	domain.Arithmetic
	// AddProducts adds v times each element of row to the sum at the same index.
	AddProducts func(sums []float64, v float64, row []float64)
	// Attend computes an attention or its gradient as domain.Attention.Run does.
	Attend func(a domain.Attention, s domain.AttentionShape, in [][]float64) [][]float64
	// Picks returns the factor with which the row numbered row contributes to the result of a gather for an id. In
	// programs it is 1 if row equals id, and otherwise 0. The prover uses other factors.
	Picks func(id, row float64) float64
	// Round converts an input or a result to its element type.
	Round func(*Array, domain.DType)
}

// singles accumulate in fp32, except in attentions, and round each result. doubles compute in float64 without rounding,
// but limit fp8 results to the range of their type, and convert results to integer types.
var (
	singles = Numbers{domain.Singles, addProducts[float32], domain.Attention.Run, picks, (*Array).Round}
	doubles = Numbers{
		domain.Arithmetic{
			Unary:   domain.UnaryFn,
			Binary:  domain.BinaryFn,
			Dropout: func(d domain.Dropout) func([]float64) float64 { return d.Of },
		},
		addProducts[float64], domain.Attention.Run, picks, saturate,
	}
)

// saturate limits elements to the range of an fp8 type, and converts them to an integer type. It does nothing for other types.
func saturate(a *Array, dtype domain.DType) {
	if dtype.IsInteger() {
		a.Round(dtype)
	}
	if !dtype.Saturates() {
		return
	}
	for i, v := range a.Data {
		a.Data[i] = dtype.Saturate(v)
	}
}

func addProducts[N float32 | float64](sums []float64, v float64, row []float64) {
	for c, w := range row {
		sums[c] = float64(N(sums[c]) + N(v*w))
	}
}

func picks(id, row float64) float64 { return choose(id == row, 1, 0) }
