package grad

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// full returns the gradient of a tensor with all its elements.
func (b *backward) full(v value, t *model.Tensor) value {
	if alike(v.axes, b.axes(t)) {
		return v
	}
	zeros := b.zeros(b.forward(t))
	if zeros.dtype != v.dtype {
		zeros = b.named(zeros.name+"_"+string(v.dtype), b.cast(zeros, v.dtype))
	}
	return b.named("d"+t.Name, like("add", zeros, v))
}

// zeros returns as many zeros as a tensor of the forward pass has elements.
func (b *backward) zeros(t value) value {
	return b.named(t.name+"_zeros", like("gt", t, t))
}

// ranked adds axes of one element at the start of a gradient, until it has a number of axes.
func (b *backward) ranked(v value, axes int) value {
	for len(v.axes) < axes {
		r := like("broadcast", v)
		r.attrs, r.axes = []string{"axis=0"}, slices.Insert(slices.Clone(v.axes), 0, one)
		v = b.named(v.name+"_b", r)
	}
	return v
}

// at returns the index of a tensor's axis in its gradient. It is negative if the gradient lacks the axis, since it
// may lack the first axes.
func at(v value, t *model.Tensor, axis int) int {
	return axis - len(domain.Shape(t.Axes)) + len(v.axes)
}

// spread returns the gradient of the elements that a reduction combined along an axis: one value for all of them.
func (b *backward) spread(v value, t *model.Tensor, axis int) value {
	at := axis - (len(domain.Shape(t.Axes)) - 1) + len(v.axes)
	if at <= 0 {
		return v
	}
	r := like("broadcast", v)
	r.attrs, r.axes = []string{axisAttr(at)}, slices.Insert(slices.Clone(v.axes), at, one)
	return b.named(v.name+"_b", r)
}

// sum: each element of a row has the gradient of the sum.
func sum(b *backward, op *model.WrittenOp, dy []value) {
	b.flow(op, 0, b.spread(dy[0], op.In[0], op.Ops[0].Axis), nil)
}

// picked: the elements that are equal to the maximum share its gradient. All elements may be equal, as in rows that
// were stretched.
func picked(b *backward, op *model.WrittenOp, dy []value) {
	y, axis := b.forward(op.Out[0]), op.Ops[0].Axis
	x := b.inTypeOf(b.forward(op.In[0]), y)
	mask := b.named(y.name+"_mask", like("eq", x, b.spread(y, op.In[0], axis)))
	ties := like("sum", mask)
	ties.attrs, ties.axes = []string{axisAttr(axis)}, y.axes
	share := like("div", dy[0], b.named(y.name+"_ties", ties))
	share.axes = y.axes
	b.give(op, 0, like("keep", b.spread(b.named("d"+y.name+"_share", share), op.In[0], axis), mask), nil)
}

// prod: dX = dY Y / X.
func prod(b *backward, op *model.WrittenOp, dy []value) {
	y := b.forward(op.Out[0])
	weighted := b.named("d"+y.name+"_weighted", like("mul", dy[0], y))
	b.give(op, 0, like("div", b.spread(weighted, op.In[0], op.Ops[0].Axis), b.inTypeOf(b.forward(op.In[0]), y)), nil)
}

// broadcast removes the axis of one element that the operation added.
func broadcast(b *backward, op *model.WrittenOp, dy []value) {
	v := dy[0]
	i := at(v, op.Out[0], op.Ops[0].Axis)
	if i < 0 {
		b.flow(op, 0, v, nil)
		return
	}
	if s := b.makers[v.name]; s != nil && s.fn == "broadcast" && s.attrs[0] == axisAttr(i) { // the backward pass added it
		b.flow(op, 0, b.values[s.args[0]], nil)
		return
	}
	r := like("sum", v)
	r.attrs, r.axes = []string{axisAttr(i)}, slices.Delete(slices.Clone(v.axes), i, i+1)
	if len(r.axes) == 0 {
		b.flow(op, 0, v, nil)
		return
	}
	b.give(op, 0, r, nil)
}

// permute: permutes the axes back.
func permute(b *backward, op *model.WrittenOp, dy []value) {
	perm := op.Ops[0].Perm
	v := b.ranked(dy[0], len(perm))
	back := make([]int, len(perm))
	for i, axis := range perm {
		back[axis] = i
	}
	b.give(op, 0, permuted(v, back), nil)
}

// permuted permutes the axes of a value.
func permuted(v value, perm []int) result {
	r, texts := like("permute", v), make([]string, len(perm))
	r.axes = make([]domain.Axis, len(perm))
	for i, axis := range perm {
		r.axes[i], texts[i] = v.axes[axis], strconv.Itoa(axis)
	}
	r.attrs = []string{"perm=[" + strings.Join(texts, ", ") + "]"}
	return r
}

// reshape: reshapes back. An axis of one element that stands for many stays one element if the reshape does not
// change it.
func reshape(b *backward, op *model.WrittenOp, dy []value) {
	from, to := b.axes(op.In[0]), b.axes(op.Out[0])
	v := b.ranked(dy[0], len(to))
	want := slices.Clone(from)
	for i, axis := range v.axes {
		if !standsFor(axis, to[i]) {
			continue
		}
		j, ok := untouched(from, to, i)
		if !ok {
			v, want = b.full(v, op.Out[0]), from
			break
		}
		want[j] = one
	}
	if alike(want, v.axes) {
		b.flow(op, 0, v, nil)
		return
	}
	if b.reshapedParts(op, v, want) {
		return
	}
	r := like("reshape", b.unshaped(v))
	r.attrs, r.axes = []string{shapeAttr(want)}, want
	b.give(op, 0, r, nil)
}

// reshapedParts reshapes the partial sums of a gradient before ranks add them, in place of their sum, so that each
// rank may get only its shard of the sum.
func (b *backward) reshapedParts(op *model.WrittenOp, v value, want []domain.Axis) bool {
	v = b.unshaped(v)
	s := b.makers[v.name]
	if s == nil || s.fn != "sum" || b.declared[v.name] != nil {
		return false
	}
	parts := b.values[s.args[0]]
	before := int64(1)
	for i, axis := range parts.axes {
		if s.attrs[0] != axisAttr(i) {
			before *= axis.Size
			continue
		}
		n := int64(1)
		for j := range want {
			if n == before && axis.Kind == domain.Device {
				r, t := like("reshape", b.unshaped(parts)), "d"+op.In[0].Name
				r.axes = slices.Insert(slices.Clone(want), j, axis)
				r.attrs = []string{shapeAttr(r.axes)}
				again := like("sum", b.named(t+"_parts", r))
				again.axes, again.attrs = want, []string{axisAttr(j)}
				b.give(op, 0, again, nil)
				return true
			}
			n *= want[j].Size
		}
	}
	return false
}

// unshaped returns a value before it was reshaped or got axes of one element.
func (b *backward) unshaped(v value) value {
	for s := b.makers[v.name]; s != nil && (s.fn == "reshape" || s.fn == "broadcast") && b.declared[v.name] == nil; s = b.makers[v.name] {
		v = b.values[s.args[0]]
	}
	return v
}

// untouched finds the axis of a reshape's operand that is axis i of the result.
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
