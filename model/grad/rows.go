package grad

import (
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// rows is for operations that normalize along an axis and have a gradient operation, which reads the result or the
// operand.
func rows(fn string, ofResult bool) func(b *backward, op *model.WrittenOp, dy []value) {
	return func(b *backward, op *model.WrittenOp, dy []value) {
		of := b.forward(op.In[0])
		if ofResult {
			of = b.forward(op.Out[0])
		}
		r := like(fn, b.full(dy[0], op.Out[0]), of)
		r.attrs = attrs(op, "causal", "split")
		b.give(op, 0, r, nil)
	}
}

// norm is for norms with parameters: one operation computes all gradients.
func norm(fn string) func(b *backward, op *model.WrittenOp, dy []value) {
	return func(b *backward, op *model.WrittenOp, dy []value) {
		x, y := b.forward(op.In[0]), b.full(dy[0], op.Out[0])
		if len(op.In) == 1 {
			r := like(fn, y, x)
			r.attrs = attrs(op)
			b.give(op, 0, r, nil)
			return
		}
		along := b.axes(op.Out[0])
		if !b.wants(op, 0) || !ofRow(op) {
			b.normByParts(fn, op, y, along)
			return
		}
		r := like(fn, y, x, b.forward(op.In[1]))
		r.attrs = attrs(op)
		operands := []int{0}
		for i := 1; i < len(op.In); i++ {
			if b.wants(op, i) {
				operands = operands[:0]
				for j := range i + 1 {
					operands = append(operands, j)
				}
			}
		}
		b.together(op, operands, r)
	}
}

// ofRow reports whether the parameters of a norm have one value for each element of a row.
func ofRow(op *model.WrittenOp) bool {
	shape := domain.Shape(op.In[0].Axes)
	for _, t := range op.In[1:] {
		if len(shape) < 2 || t.DType != op.In[1].DType || !slices.Equal(domain.Shape(t.Axes), shape[len(shape)-1:]) {
			return false
		}
	}
	return true
}

// together emits an operation whose results are the gradients with respect to several operands. along gives the axes
// of each result. A result that is not a requested gradient becomes an output of the backward pass.
func (b *backward) together(op *model.WrittenOp, operands []int, r result, along ...[]domain.Axis) {
	s := &statement{fn: r.fn, args: r.args, attrs: r.attrs, origin: op}
	parts := make([]part, len(operands))
	for i, operand := range operands {
		t := op.In[operand]
		p := part{value: value{axes: b.axes(t), dtype: t.DType, mesh: r.mesh}}
		if len(along) > 0 {
			p.axes, p.along = along[i], along[i]
		}
		p.name = b.names.fresh(b.partName(op, t, result{axes: p.axes}, p.along))
		parts[i] = p
	}
	values := make([]value, len(parts))
	for i, p := range parts {
		values[i] = p.value
	}
	b.add(s, values...)
	for i, operand := range operands {
		if !b.wants(op, operand) {
			b.extra = append(b.extra, values[i].name)
		}
		b.flow(op, operand, values[i], parts[i].along)
	}
}

// normByParts adds the gradients of a norm one by one, where the gradient operation cannot compute them together.
func (b *backward) normByParts(fn string, op *model.WrittenOp, dy value, along []domain.Axis) {
	plain := map[string]string{"rms_norm_grad": "rms_norm", "layer_norm_grad": "normalize"}[fn]
	bare := map[string]string{"rms_norm_grad": "rms_norm_grad", "layer_norm_grad": "normalize_grad"}[fn]
	x := b.forward(op.In[0])
	if b.wants(op, 0) {
		r := like(bare, b.named("d"+op.Out[0].Name+"_scaled", like("mul", dy, b.inTypeOf(b.forward(op.In[1]), dy))), x)
		r.attrs = attrs(op)
		b.give(op, 0, r, nil)
	}
	if b.wants(op, 1) {
		r := like(plain, x)
		r.attrs = attrs(op)
		b.give(op, 1, like("mul", dy, b.named(op.Out[0].Name+"_norm", r)), along)
	}
	if len(op.In) > 2 && b.wants(op, 2) {
		b.flow(op, 2, dy, along)
	}
}

// inTypeOf converts a value to the element type of like if it differs.
func (b *backward) inTypeOf(v, like value) value {
	if v.dtype == like.dtype {
		return v
	}
	return b.named(v.name+"_"+string(like.dtype), b.cast(v, like.dtype))
}

// rope rotates back. If each rank counts its rows from 0, so does the gradient, because the axis before the
// gradient's rows may be split where the operand's axis is not.
func rope(fn string) func(b *backward, op *model.WrittenOp, dy []value) {
	return func(b *backward, op *model.WrittenOp, dy []value) {
		g := b.full(dy[0], op.Out[0])
		r := like(fn, b.plain(g, op.Out[0], len(g.axes)-1)) // a rotation needs both elements of a pair
		for _, table := range op.In[1:] {
			r.args = append(r.args, b.forward(table).name)
		}
		r.attrs = attrs(op)
		if axis := counted(op); axis > 0 && isSplit(r.axes[axis-1]) && op.Attr("split") == nil {
			r.attrs = append(r.attrs, "split=batches")
		}
		b.give(op, 0, r, nil)
	}
}

// counted returns the axis along which a rope counts rows, or 0 if the positions are an operand.
func counted(op *model.WrittenOp) int {
	axis := 0
	for _, step := range op.Ops {
		if step.Kind == model.OpPositions && len(op.In) == 1 {
			axis = step.Axis // the positions of pairs come first
		}
	}
	return axis
}
