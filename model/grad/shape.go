package grad

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// full returns the gradient of a tensor with all its elements. If axes have one element or are missing, it adds zeros with
// the shape of the tensor.
func (b *backward) full(v value, t *model.Tensor) value {
	if alike(v.axes, b.axes(t)) {
		return v
	}
	return b.named("d"+t.Name, like("add", b.typed(b.zeros(b.forward(t)), v.dtype), v))
}

// zeros returns zeros with the shape of t: t > t, which is 0 also for NaN.
func (b *backward) zeros(t value) value {
	if !t.dtype.Computes() {
		t = b.typed(t, b.pipeline.UsualDType())
	}
	return b.named(t.name+"_zeros", like("gt", t, t))
}

// ranked adds axes of one element at the start of a gradient, until it has a number of axes.
func (b *backward) ranked(v value, axes int) value {
	for len(v.axes) < axes {
		v = b.broadcast(v, 0)
	}
	return v
}

// broadcast inserts an axis of one element.
func (b *backward) broadcast(v value, axis int) value {
	return b.named(v.name+"_b", like("broadcast", v).with(axisAttr(axis)).along(slices.Insert(slices.Clone(v.axes), axis, one)))
}

// summed returns an operation that sums over an axis.
func summed(v value, axis int) result {
	return like("sum", v).with(axisAttr(axis)).along(lists.Without(v.axes, axis))
}

// at returns the index of a tensor's axis among the axes of its gradient, which may lack the first axes. It is negative if
// the gradient lacks this axis.
func at(v value, t *model.Tensor, axis int) int {
	return axis - len(domain.Shape(t.Axes)) + len(v.axes)
}

// spread returns the gradient v of a reduction's result as a gradient of its operand t: with one element along the
// reduced axis, which stretches to all elements.
func (b *backward) spread(v value, t *model.Tensor, axis int) value {
	axes := len(domain.Shape(t.Axes))
	at := axis - (axes - 1) + len(v.axes)
	if axes == 1 || at <= 0 { // one element stretches
		return v
	}
	return b.broadcast(v, at)
}

// sum gives each element along the summed axis the gradient of the sum.
func sum(u use) {
	u.flow(0, u.spread(u.dy[0], u.In[0], u.axis()), nil)
}

// mean gives each of the n elements along the axis 1/n of the gradient of the mean.
func mean(u use) {
	extent := domain.WithoutReductions(u.In[0].Axes)[u.axis()].Extent
	size := extent.String()
	switch {
	case strings.ContainsAny(size, "%=!"): // numbers have no such operators
		size = strconv.FormatInt(extent.Size, 10)
	case strings.ContainsAny(size, "+-*/"):
		size = "(" + size + ")"
	}
	share := u.named("d"+u.Out[0].Name+"_share", like("scale", u.dy[0]).with("by=1/"+size))
	u.flow(0, u.spread(share, u.In[0], u.axis()), nil)
}

// picked divides the gradient of a maximum or minimum along an axis equally among the elements that are equal to it.
func picked(u use) {
	y, axis := u.result(), u.axis()
	x := u.typed(u.in(0), y.dtype)
	mask := u.named(y.name+"_mask", like("eq", x, u.spread(y, u.In[0], axis)))
	ties := u.named(y.name+"_ties", like("sum", mask).with(axisAttr(axis)).along(y.axes))
	share := u.named("d"+y.name+"_share", like("div", u.dy[0], ties).along(y.axes))
	u.give(0, like("keep", u.spread(share, u.In[0], axis), mask), nil)
}

// prod computes dX = dY Y / X.
func prod(u use) {
	y := u.result()
	weighted := u.named("d"+y.name+"_weighted", like("mul", u.dy[0], y))
	u.give(0, like("div", u.spread(weighted, u.In[0], u.axis()), u.typed(u.in(0), y.dtype)), nil)
}

// broadcast removes the axis of one element that the operation added.
func broadcast(u use) {
	v := u.dy[0]
	i := at(v, u.Out[0], u.axis())
	if i < 0 {
		u.flow(0, v, nil)
		return
	}
	if s := u.makers[v.name]; s != nil && s.fn == "broadcast" && s.attrs[0] == axisAttr(i) { // undo a broadcast of the backward pass
		u.flow(0, u.values[s.args[0]], nil)
		return
	}
	if len(v.axes) == 1 {
		u.flow(0, v, nil)
		return
	}
	u.give(0, summed(v, i), nil)
}

// permute permutes the axes of the gradient back.
func permute(u use) {
	perm := u.Ops[0].Perm
	v := u.ranked(u.dy[0], len(perm))
	back := make([]int, len(perm))
	for i, axis := range perm {
		back[axis] = i
	}
	u.give(0, permuted(v, back), nil)
}

// permuted returns an operation that permutes the axes of a value.
func permuted(v value, perm []int) result {
	axes := lists.Map(perm, func(axis int) domain.Axis { return v.axes[axis] })
	return like("permute", v).with("perm=[" + lists.Join(perm, strconv.Itoa) + "]").along(axes)
}

// reshape reshapes the gradient back. An axis of one element that stands for many stays one element if the forward reshape
// does not change that axis.
func reshape(u use) {
	from, to := u.axes(u.In[0]), u.along()
	v := u.ranked(u.dy[0], len(to))
	want := slices.Clone(from)
	for i, axis := range v.axes {
		if !stretchesTo(axis, to[i]) {
			continue
		}
		j, ok := untouched(from, to, i)
		if !ok {
			v, want = u.full(v, u.Out[0]), from
			break
		}
		want[j] = one
	}
	if alike(want, v.axes) {
		u.flow(0, v, nil)
		return
	}
	if u.reshapedParts(v, want) {
		return
	}
	u.give(0, reshaped(u.unshaped(v), want), nil)
}

// reshapedParts reshapes the partial sums of a gradient before ranks add them, in place of their sum, so that each rank
// may get only its shard of the sum. It reports whether it did.
func (u use) reshapedParts(v value, want []domain.Axis) bool {
	v = u.unshaped(v)
	s := u.makers[v.name]
	if s == nil || s.fn != "sum" || u.declared[v.name] != nil {
		return false
	}
	parts := u.values[s.args[0]]
	before := int64(1)
	for i, axis := range parts.axes {
		if s.attrs[0] != axisAttr(i) {
			before *= axis.Size
			continue
		}
		n := int64(1)
		for j := range want {
			if n == before && axis.Kind == domain.Device {
				r := reshaped(u.unshaped(parts), slices.Insert(slices.Clone(want), j, axis))
				u.give(0, like("sum", u.named("d"+u.In[0].Name+"_parts", r)).with(axisAttr(j)).along(want), nil)
				return true
			}
			n *= want[j].Size
		}
	}
	return false
}

// unshaped returns a value before its last reshapes and broadcasts. It stops at a declared result.
func (b *backward) unshaped(v value) value {
	for s := b.makers[v.name]; s != nil && (s.fn == "reshape" || s.fn == "broadcast") && b.declared[v.name] == nil; s = b.makers[v.name] {
		v = b.values[s.args[0]]
	}
	return v
}

// untouched returns the axis of a reshape's operand that is axis i of the result: the same elements with the same extent. It
// returns false if there is none.
func untouched(from, to []domain.Axis, i int) (int, bool) {
	before, n := int64(1), int64(1)
	for _, a := range to[:i] {
		before *= a.Size
	}
	for j, a := range from {
		if n == before && a.Extent == to[i].Extent {
			return j, true
		}
		n *= a.Size
	}
	return 0, false
}
