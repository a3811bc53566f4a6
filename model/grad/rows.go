package grad

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// rows returns the rule of an operation along an axis whose gradient is fn(dY, v). The function "of" returns v: the result
// or the operand.
func rows(fn string, of func(u use) value) func(use) {
	return func(u use) {
		u.give(0, like(fn, u.whole(), of(u)).with(attrs(u.WrittenOp, "causal", "split")...), nil)
	}
}

func ofResult(u use) value  { return u.result() }
func ofOperand(u use) value { return u.in(0) }

// norm returns the rule of a norm whose gradient is the operation fn. This operation computes the gradients with respect
// to X and to the parameters that need one, unless ofRow is false or X needs no gradient: see normByParts.
func norm(fn string) func(use) {
	return func(u use) {
		x, y := u.in(0), u.whole()
		if len(u.In) == 1 {
			u.give(0, like(fn, y, x).with(attrs(u.WrittenOp)...), nil)
			return
		}
		if !u.wants(0) || !ofRow(u.WrittenOp) {
			u.normByParts(fn, y)
			return
		}
		operands := []int{0}
		for i := 1; i < len(u.In); i++ {
			if u.wants(i) {
				operands = lists.Numbers(i + 1)
			}
		}
		u.together(operands, like(fn, y, x, u.in(1)).with(attrs(u.WrittenOp)...))
	}
}

// ofRow reports whether the parameters of a norm have one type, and one value for each element of a row, and X has at least
// two axes.
func ofRow(op *model.WrittenOp) bool {
	shape := domain.Shape(op.In[0].Axes)
	for _, t := range op.In[1:] {
		if len(shape) < 2 || t.DType != op.In[1].DType || !slices.Equal(domain.Shape(t.Axes), shape[len(shape)-1:]) {
			return false
		}
	}
	return true
}

// together adds an operation whose results are the gradients with respect to several operands. along has the axes of each
// result; without along, results have the axes of the operands. A result that is not needed becomes an output of the
// backward pass.
func (u use) together(operands []int, r result, along ...[]domain.Axis) {
	s := &statement{fn: r.fn, args: r.args, attrs: r.attrs, origin: u.WrittenOp}
	parts := make([]part, len(operands))
	for i, operand := range operands {
		t := u.In[operand]
		p := part{value: value{axes: u.axes(t), dtype: t.DType, mesh: r.mesh}}
		if len(along) > 0 {
			p.axes, p.along = along[i], along[i]
		}
		p.name = u.names.fresh(u.partName(t, result{axes: p.axes}, p.along))
		parts[i] = p
	}
	u.add(s, lists.Map(parts, func(p part) value { return p.value })...)
	for i, operand := range operands {
		if !u.wants(operand) {
			u.extra = append(u.extra, parts[i].name)
		}
		u.flow(operand, parts[i].value, parts[i].along)
	}
}

// normByParts adds the gradients of a norm one by one, where the gradient operation cannot compute them together.
func (u use) normByParts(fn string, dy value) {
	plain := map[string]string{"rms_norm_grad": "rms_norm", "layer_norm_grad": "normalize"}[fn]
	bare := map[string]string{"rms_norm_grad": "rms_norm_grad", "layer_norm_grad": "normalize_grad"}[fn]
	x, name := u.in(0), u.Out[0].Name
	if u.wants(0) {
		scaled := u.named("d"+name+"_scaled", like("mul", dy, u.typed(u.in(1), dy.dtype)))
		u.give(0, like(bare, scaled, x).with(attrs(u.WrittenOp)...), nil)
	}
	if u.wants(1) {
		norm := u.named(name+"_norm", like(plain, x).with(attrs(u.WrittenOp)...))
		u.give(1, like("mul", dy, norm), u.along())
	}
	if len(u.In) > 2 {
		u.flow(2, dy, u.along())
	}
}

// rope returns the rule of a rotation: fn rotates the gradient back. The gradient gets split=batches if the axis before its
// rows is split over ranks and the forward operation has no attribute split. Each rank then counts its rows from 0, as in
// the forward pass.
func rope(fn string) func(use) {
	return func(u use) {
		g := u.whole()
		r := like(fn, u.plain(g, u.Out[0], len(g.axes)-1)). // a rotation needs both elements of a pair
									reading(u.backward, u.In[1:]...).with(attrs(u.WrittenOp)...)
		if axis := counted(u.WrittenOp); axis > 0 && isSplit(r.axes[axis-1]) && u.Attr("split") == nil {
			r = r.with("split=batches")
		}
		u.give(0, r, nil)
	}
}

// counted returns the axis along which a rope counts rows, or 0 if the positions or the tables are operands.
func counted(op *model.WrittenOp) int {
	axis := 0
	for _, step := range op.Ops {
		if step.Kind == model.OpPositions && len(op.In) == 1 {
			axis = step.Axis // of the last positions step: the earlier step counts pairs
		}
	}
	return axis
}
