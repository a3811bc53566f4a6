package grad

import (
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// slice computes a dX that is dY in the slice and 0 outside.
func slice(u use) {
	o := u.Ops[0]
	axis, x := o.Axis, u.axes(u.In[0])
	whole, part := x[axis].Extent, u.along()[axis].Extent
	if whole.Size == part.Size {
		u.flow(0, u.dy[0], nil)
		return
	}
	zeros := u.zeros(u.in(0))
	pieces := []value{u.plain(u.whole(), u.Out[0], axis)}
	if o.Start.Size > 0 {
		pieces = slices.Insert(pieces, 0, u.sliced(zeros, axis, domain.Extent{}, o.Start, u.In[0].Name+"_before"))
	}
	if end := o.Start.Plus(part); end.Size < whole.Size {
		pieces = append(pieces, u.sliced(zeros, axis, end, whole.Minus(end), u.In[0].Name+"_after"))
	}
	u.give(0, joined(pieces, axis, x), nil)
}

// sliced adds a slice of size elements of an axis from start on, and returns its result.
func (b *backward) sliced(v value, axis int, start, size domain.Extent, name string) value {
	return b.named(name, cut(v, axis, start, size))
}

// cut returns an operation that takes size elements of an axis from start on.
func cut(v value, axis int, start, size domain.Extent) result {
	axes := slices.Clone(v.axes)
	axes[axis] = domain.Axis{Extent: size}
	return like("slice", v).with(cutAttrs(axis, start, size)...).along(axes)
}

func cutAttrs(axis int, start, size domain.Extent) []string {
	return []string{axisAttr(axis), "start=" + start.String(), "size=" + size.String()}
}

// joined returns an operation that concatenates values along an axis.
func joined(pieces []value, axis int, axes []domain.Axis) result {
	return like("concat", pieces[0], pieces[1:]...).with(axisAttr(axis)).along(axes)
}

// split concatenates the gradients of the results.
func split(u use) {
	pieces := make([]value, len(u.dy))
	for i, t := range u.Out {
		if pieces[i] = u.plain(u.zeroUnless(u.dy[i], t), t, u.axis()); len(pieces) == 1 {
			u.flow(0, pieces[i], nil)
			return
		}
	}
	u.give(0, joined(pieces, u.axis(), u.axes(u.In[0])), nil)
}

// plain returns a gradient that is not split over ranks along an axis, which a slice or concat divides or a rope rotates. If it
// must gather the gradient, the other axes are distributed as in tensor t.
func (b *backward) plain(v value, t *model.Tensor, axis int) value {
	lies := v.axes
	if d := b.declared[v.name]; d != nil {
		lies = b.axes(d)
	}
	if lies[axis].Kind != domain.Device || !slices.Equal(domain.Shape(v.axes), domain.Shape(b.axes(t))) {
		return v
	}
	whole := *t
	whole.Axes = slices.Clone(b.axes(t))
	whole.Axes[axis] = domain.Axis{Extent: whole.Axes[axis].Extent}
	v = b.named(v.name+"_whole", like("set", v).along(whole.Axes))
	whole.Name = v.name
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

// concat gives each operand its slice of the gradient.
func concat(u use) {
	axis := u.axis()
	i := at(u.dy[0], u.Out[0], axis)
	if i < 0 || stretchesTo(u.dy[0].axes[i], u.along()[axis]) {
		for n := range u.In {
			u.flow(n, u.dy[0], nil)
		}
		return
	}
	start, g := domain.Extent{}, u.plain(u.dy[0], u.Out[0], i)
	for n, t := range u.In {
		size := u.axes(t)[axis].Extent
		u.give(n, cut(g, i, start, size), nil)
		start = start.Plus(size)
	}
}
