package grad

import (
	"github.com/hirgen/hirgen/model"
)

// same is for operations that change values at most by an additive constant: dX = dY.
func same(b *backward, op *model.WrittenOp, dy []value) { b.flow(op, 0, dy[0], b.axes(op.Out[0])) }

func neg(b *backward, op *model.WrittenOp, dy []value) { b.give(op, 0, like("neg", dy[0]), nil) }

// slope: dX = dY f'(X). f' is a separate operation.
func slope(b *backward, op *model.WrittenOp, dy []value) {
	x := b.forward(op.In[0])
	s := b.named(op.Out[0].Name+"_slope", like(op.Fn+"_grad", x))
	b.give(op, 0, like("mul", dy[0], s), nil)
}

// exp: dX = dY Y.
func exp(b *backward, op *model.WrittenOp, dy []value) {
	b.give(op, 0, like("mul", dy[0], b.forward(op.Out[0])), nil)
}

// log: dX = dY / X.
func log(b *backward, op *model.WrittenOp, dy []value) {
	b.give(op, 0, like("div", dy[0], b.forward(op.In[0])), nil)
}

// sin: dX = dY cos X.
func sin(b *backward, op *model.WrittenOp, dy []value) {
	b.give(op, 0, like("mul", dy[0], b.named(op.In[0].Name+"_cos", like("cos", b.forward(op.In[0])))), nil)
}

// cos: dX = -dY sin X.
func cos(b *backward, op *model.WrittenOp, dy []value) {
	s := b.named(op.In[0].Name+"_sin", like("sin", b.forward(op.In[0])))
	b.give(op, 0, like("neg", b.named("d"+op.In[0].Name+"_away", like("mul", dy[0], s))), nil)
}

// sqrt: dX = dY / Y / 2.
func sqrt(b *backward, op *model.WrittenOp, dy []value) {
	twice := b.named("d"+op.In[0].Name+"_twice", like("div", dy[0], b.forward(op.Out[0])))
	b.give(op, 0, scaled(twice, "0.5"), nil)
}

// rsqrt: dX = -dY Y^3 / 2.
func rsqrt(b *backward, op *model.WrittenOp, dy []value) {
	y, name := b.forward(op.Out[0]), op.Out[0].Name
	cube := b.named(name+"_cube", like("mul", b.named(name+"_square", like("mul", y, y)), y))
	b.give(op, 0, scaled(b.named("d"+op.In[0].Name+"_twice", like("mul", dy[0], cube)), "-0.5"), nil)
}

// tanh: dX = dY (1 - Y^2).
func tanh(b *backward, op *model.WrittenOp, dy []value) {
	y, name := b.forward(op.Out[0]), op.Out[0].Name
	less := like("neg", b.named(name+"_square", like("mul", y, y)))
	s := like("shift", b.named(name+"_less", less))
	s.attrs = []string{"by=1"}
	b.give(op, 0, like("mul", dy[0], b.named(name+"_slope", s)), nil)
}

// reciprocal: dX = -dY Y^2.
func reciprocal(b *backward, op *model.WrittenOp, dy []value) {
	y, name := b.forward(op.Out[0]), op.Out[0].Name
	square := b.named(name+"_square", like("mul", y, y))
	b.give(op, 0, like("neg", b.named("d"+op.In[0].Name+"_away", like("mul", dy[0], square))), nil)
}

func scaled(v value, by string) result {
	r := like("scale", v)
	r.attrs = []string{"by=" + by}
	return r
}

// scale: dX = dY by.
func scale(b *backward, op *model.WrittenOp, dy []value) {
	b.give(op, 0, scaled(dy[0], op.Attr("by").Values[0]), nil)
}

// add: dA = dY, dB = dY.
func add(b *backward, op *model.WrittenOp, dy []value) {
	along, g := b.axes(op.Out[0]), b.ready(dy[0], op)
	b.flow(op, 0, g, along)
	b.flow(op, 1, g, along)
}

// sub: dA = dY, dB = -dY.
func sub(b *backward, op *model.WrittenOp, dy []value) {
	along, g := b.axes(op.Out[0]), b.ready(dy[0], op)
	b.flow(op, 0, g, along)
	b.give(op, 1, like("neg", g), along)
}

// mul: dA = dY B, dB = dY A.
func mul(b *backward, op *model.WrittenOp, dy []value) {
	along, g := b.axes(op.Out[0]), b.ready(dy[0], op)
	for i := range 2 {
		if b.wants(op, i) {
			b.give(op, i, like("mul", g, b.forward(op.In[1-i])), along)
		}
	}
}

// div, Y = A / B: dA = dY / B, dB = -dA Y.
func div(b *backward, op *model.WrittenOp, dy []value) {
	along := b.axes(op.Out[0])
	da := like("div", b.ready(dy[0], op), b.forward(op.In[1]))
	b.give(op, 0, da, along)
	if b.wants(op, 1) {
		name := "d" + op.In[1].Name
		v := b.named("d"+op.In[0].Name+"_"+op.Out[0].Name, da)
		b.give(op, 1, like("neg", b.named(name+"_away", like("mul", v, b.forward(op.Out[0])))), along)
	}
}

// extreme is for max and min. For two tensors, the gradient goes to the larger or the smaller element. The function
// also handles reductions.
func extreme(b *backward, op *model.WrittenOp, dy []value) {
	if len(op.In) == 1 {
		picked(b, op, dy)
		return
	}
	along, fns := b.axes(op.Out[0]), [2]string{"keep", "drop"}
	compare := "ge" // where the first operand is larger
	if op.Fn == "min" {
		compare, fns = "gt", [2]string{"drop", "keep"}
	}
	g := b.ready(dy[0], op)
	mask := b.named(op.Out[0].Name+"_mask", like(compare, b.forward(op.In[0]), b.forward(op.In[1])))
	for i, fn := range fns {
		b.give(op, i, like(fn, g, mask), along)
	}
}

// chosen is for functions that keep the elements that a mask selects: dX = keep(dY, mask).
func chosen(fn string) func(b *backward, op *model.WrittenOp, dy []value) {
	return func(b *backward, op *model.WrittenOp, dy []value) {
		b.give(op, 0, like(fn, b.ready(dy[0], op), b.forward(op.In[1])), b.axes(op.Out[0]))
	}
}

// where: dA = keep(dY, mask), dB = drop(dY, mask).
func where(b *backward, op *model.WrittenOp, dy []value) {
	mask, along, g := b.forward(op.In[0]), b.axes(op.Out[0]), b.ready(dy[0], op)
	if mask.dtype != dy[0].dtype {
		mask = b.named(mask.name+"_"+string(dy[0].dtype), b.cast(mask, dy[0].dtype))
	}
	b.give(op, 1, like("keep", g, mask), along)
	b.give(op, 2, like("drop", g, mask), along)
}

// dropout: dX = dropout(dY). The mask is recomputed from the same seed.
func dropout(b *backward, op *model.WrittenOp, dy []value) {
	r := like(op.Fn, b.full(dy[0], op.Out[0]))
	for _, t := range op.In[1:] {
		r.args = append(r.args, b.forward(t).name)
	}
	r.attrs = attrs(op)
	b.give(op, 0, r, nil)
}
