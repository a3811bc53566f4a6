package grad

import (
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// slice: the gradient has zeros outside the slice.
func slice(b *backward, op *model.WrittenOp, dy []value) {
	o := op.Ops[0]
	axis, x := o.Axis, b.axes(op.In[0])
	whole, part := x[axis].Extent, b.axes(op.Out[0])[axis].Extent
	if whole.Size == part.Size {
		b.flow(op, 0, dy[0], nil)
		return
	}
	zeros := b.zeros(b.forward(op.In[0]))
	pieces := []value{b.plain(b.full(dy[0], op.Out[0]), op.Out[0], axis)}
	if o.Start.Size > 0 {
		pieces = slices.Insert(pieces, 0, b.sliced(zeros, axis, domain.Extent{}, o.Start, op.In[0].Name+"_before"))
	}
	if end := plus(o.Start, part); end.Size < whole.Size {
		pieces = append(pieces, b.sliced(zeros, axis, end, minus(whole, end), op.In[0].Name+"_after"))
	}
	b.give(op, 0, joined(pieces, axis, x), nil)
}

// sliced adds a slice of size elements of an axis from start on.
func (b *backward) sliced(v value, axis int, start, size domain.Extent, name string) value {
	r := like("slice", v)
	r.attrs = []string{axisAttr(axis), "start=" + start.String(), "size=" + size.String()}
	r.axes = slices.Clone(v.axes)
	r.axes[axis] = domain.Axis{Extent: size}
	return b.named(name, r)
}

// joined concatenates values along an axis.
func joined(pieces []value, axis int, axes []domain.Axis) result {
	r := like("concat", pieces[0])
	for _, p := range pieces[1:] {
		r.args = append(r.args, p.name)
	}
	r.attrs, r.axes = []string{axisAttr(axis)}, axes
	return r
}

// split: concatenates the gradients of the results.
func split(b *backward, op *model.WrittenOp, dy []value) {
	pieces := make([]value, len(dy))
	for i, t := range op.Out {
		if pieces[i] = b.plain(b.zeroUnless(dy[i], t), t, op.Ops[0].Axis); len(pieces) == 1 {
			b.flow(op, 0, pieces[i], nil)
			return
		}
	}
	b.give(op, 0, joined(pieces, op.Ops[0].Axis, b.axes(op.In[0])), nil)
}

// plain returns a gradient that is not split along an axis that a slice or concat divides, or a rope rotates. Its other axes are
// distributed as in its tensor.
func (b *backward) plain(v value, t *model.Tensor, axis int) value {
	lies := v.axes
	if d := b.declared[v.name]; d != nil {
		lies = b.axes(d)
	}
	if lies[axis].Kind != domain.Device || !slices.Equal(domain.Shape(v.axes), domain.Shape(b.axes(t))) {
		return v
	}
	r := like("set", v)
	r.axes = slices.Clone(b.axes(t))
	r.axes[axis] = domain.Axis{Extent: r.axes[axis].Extent}
	v = b.named(v.name+"_whole", r)
	whole := *t
	whole.Name, whole.Axes = v.name, r.axes
	b.declared[v.name] = &whole
	return v
}

// zeroUnless returns the gradient of a tensor with all its elements. It is zeros if no output depends on the tensor.
func (b *backward) zeroUnless(v value, t *model.Tensor) value {
	if v.name == "" {
		return b.zeros(b.forward(t))
	}
	return b.full(v, t)
}

// concat: each operand gets its slice of the gradient.
func concat(b *backward, op *model.WrittenOp, dy []value) {
	axis := op.Ops[0].Axis
	i := at(dy[0], op.Out[0], axis)
	if i < 0 || standsFor(dy[0].axes[i], b.axes(op.Out[0])[axis]) {
		for n := range op.In {
			b.flow(op, n, dy[0], nil)
		}
		return
	}
	start, g := domain.Extent{}, b.plain(dy[0], op.Out[0], i)
	for n, t := range op.In {
		size := b.axes(t)[axis].Extent
		r := like("slice", g)
		r.attrs = []string{axisAttr(i), "start=" + start.String(), "size=" + size.String()}
		r.axes = slices.Clone(g.axes)
		r.axes[i] = domain.Axis{Extent: size}
		b.give(op, n, r, nil)
		start = plus(start, size)
	}
}
