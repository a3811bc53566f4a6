package eval

import (
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// attention computes the results of an attention, or of the gradient of an attention.
func attention(n Numbers, a domain.Attention, op *model.Op, in []*Array) []*Array {
	first := 0
	if op.Kind == model.OpAttentionGrad {
		first = 1
	}
	s := a.Shape(in[first].Shape, in[first+1].Shape)
	data := make([][]float64, len(in))
	for i := range in {
		data[i] = in[i].Data
	}
	made := n.Attend(a, s, data)
	results := make([]*Array, len(op.Results()))
	for i, t := range op.Results() {
		results[i] = &Array{Shape: domain.Shape(t.Axes), Data: made[i]}
	}
	return results
}
