package eval

import (
	"math"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// shaken returns the results of an attention or of its gradient in float64, a second evaluation with other rounding
// errors, and bounds. It finds the last two by evaluating the operation with small random changes of the operands.
func (b *bounder) shaken(op *model.Op, in, other, e []*Array) (results, others, bounds []*Array) {
	const times = 3
	a, _ := domain.AttentionOf(op.Fn)
	move := func(in, e []*Array, roundings float64) []*Array {
		moved := make([]*Array, len(in))
		for i, t := range op.In {
			moved[i] = combined(in[i], e[i], func(v, e float64) float64 {
				return v + float64(2*b.IntN(2)-1)*math.Hypot(e, roundings*t.DType.Epsilon()*v)
			})
		}
		return moved
	}
	none := lists.Map(in, func(a *Array) *Array { return NewArray(a.Shape...) })
	// An attention also rounds intermediate results.
	results, others = attention(doubles, a, op, in), attention(doubles, a, op, move(other, none, 0.25))
	for _, r := range results {
		bounds = append(bounds, NewArray(r.Shape...))
	}
	size, infinite := make([]float64, len(results)), unsure(e)
	for range times {
		for r, shaken := range attention(doubles, a, op, move(in, e, spread)) {
			for i, v := range shaken.Data {
				d := apart(v, results[r].Data[i])
				size[r] += d * d / float64(times*len(shaken.Data))
				bounds[r].Data[i] = max(bounds[r].Data[i], d, choose(v-v == 0, 0, infinite))
			}
		}
	}
	for r, bound := range bounds {
		for i := range bound.Data {
			bound.Data[i] = max(bound.Data[i], math.Sqrt(size[r]))
		}
	}
	return results, others, bounds
}
