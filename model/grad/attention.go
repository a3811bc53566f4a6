package grad

import (
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// attention: one operation computes the gradients of queries, keys and values, from the result and the logarithms of
// the sums of its rows. If queries have blocks that the keys do not have, the gradients of keys and values are
// partial sums, one for each block.
func attention(b *backward, op *model.WrittenOp, dy []value) {
	r := like("attention_grad", b.full(dy[0], op.Out[0]))
	for _, t := range op.In {
		r.args = append(r.args, b.forward(t).name)
	}
	r.args = append(r.args, b.forward(op.Out[0]).name, b.forward(b.logarithms(op)).name)
	r.attrs = attrs(op)
	var along [][]domain.Axis
	queries := b.axes(op.In[0])
	for _, t := range op.In {
		axes := b.axes(t)
		if len(axes) < len(queries) {
			axes = slices.Insert(slices.Clone(axes), 0, queries[0])
		}
		along = append(along, axes)
	}
	b.together(op, []int{0, 1, 2}, r, along...)
}

// logarithms returns the second result of an attention. If the forward pass does not have it, it must add it: see
// Pass.Forward.
func (b *backward) logarithms(op *model.WrittenOp) *model.Tensor {
	if len(op.Out) > 1 {
		return op.Out[1]
	}
	out := op.Out[0]
	axes := b.axes(out)
	t := &model.Tensor{Name: b.names.fresh(out.Name + "_log"), DType: domain.FP32, Axes: axes[:len(axes)-1], Mesh: out.Mesh,
		Producer: op.Ops[0], Pos: op.Pos}
	b.more[op] = t
	return t
}

// results lists the results that an operation of the forward pass must have.
func (b *backward) results(op *model.WrittenOp) []*model.Tensor {
	if t, ok := b.more[op]; ok {
		return []*model.Tensor{op.Out[0], t}
	}
	return op.Out
}
