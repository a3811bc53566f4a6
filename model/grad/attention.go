package grad

import (
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// attention adds one operation that computes the gradients of queries, keys and values. It also reads O and L, the
// log-sum-exp of each row of scores. If queries have blocks that the keys do not have, the gradients of keys and values are
// partial sums, one for each block.
func attention(u use) {
	r := like("attention_grad", u.whole()).reading(u.backward, u.In...).
		reading(u.backward, u.Out[0], u.logarithms()).with(attrs(u.WrittenOp)...)
	var along [][]domain.Axis
	queries := u.axes(u.In[0])
	for _, t := range u.In {
		axes := u.axes(t)
		if len(axes) < len(queries) {
			axes = slices.Insert(slices.Clone(axes), 0, queries[0])
		}
		along = append(along, axes)
	}
	u.together([]int{0, 1, 2}, r, along...)
}

// logarithms returns L, the second result of an attention. If the spec does not name L, the forward pass with saved
// tensors, Pass.Forward, adds it.
func (u use) logarithms() *model.Tensor {
	if len(u.Out) > 1 {
		return u.Out[1]
	}
	out, axes := u.Out[0], u.along()
	t := &model.Tensor{Name: u.names.fresh(out.Name + "_log"), DType: domain.FP32, Axes: axes[:len(axes)-1], Mesh: out.Mesh,
		Producer: u.Ops[0], Pos: u.Pos}
	u.more[u.WrittenOp] = t
	return t
}

// results returns the results of an operation of the forward pass, including L of an attention if the backward pass reads
// it.
func (b *backward) results(op *model.WrittenOp) []*model.Tensor {
	if t, ok := b.more[op]; ok {
		return []*model.Tensor{op.Out[0], t}
	}
	return op.Out
}
