package grad

import (
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// same is for operations that change values at most by an additive constant: dX = dY.
func same(b *backward, op *model.WrittenOp, dy []value) { b.flow(op, 0, dy[0], b.axes(op.Out[0])) }

// formula is for functions of one operand whose gradient is a body on X, Y and dY. Its last step is dX. The names of the
// other steps begin with the names of those tensors.
func formula(text string) func(b *backward, op *model.WrittenOp, dy []value) {
	body, _ := domain.ParseBody(text, []string{"X", "Y", "dY"})
	return func(b *backward, op *model.WrittenOp, dy []value) {
		values := []value{{}, {}, dy[0]}
		for i, s := range body {
			fn, constant := domain.SplitFn(s.Fn)
			args := make([]value, len(s.Args))
			for k, at := range s.Args {
				if at < 2 {
					values[at] = b.forward([]*model.Tensor{op.In[0], op.Out[0]}[at])
				}
				args[k] = values[at]
			}
			r := like(fn, args[0], args[1:]...)
			if constant != "" {
				r.attrs = []string{"by=" + constant}
			}
			if i == len(body)-1 {
				b.give(op, 0, r, nil)
				return
			}
			of, name, _ := strings.Cut(s.Name, "_")
			of = map[string]string{"X": op.In[0].Name, "Y": op.Out[0].Name, "dX": "d" + op.In[0].Name}[of]
			values = append(values, b.named(of+"_"+name, r))
		}
	}
}

// scale: dX = dY by.
func scale(b *backward, op *model.WrittenOp, dy []value) {
	r := like("scale", dy[0])
	r.attrs = []string{"by=" + op.Attr("by").Values[0]}
	b.give(op, 0, r, nil)
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
