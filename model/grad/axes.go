package grad

import (
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// one is an axis of one element that stands for any number.
var one = domain.Axis{Kind: domain.Broadcast, Extent: domain.Extent{Size: 1}}

// isOne reports whether an axis has one element whatever the parameters are.
func isOne(a domain.Axis) bool {
	return a.Extent.Size == 1 && (a.Kind == domain.Broadcast || a.Extent.Text == "")
}

// standsFor reports whether an axis has one element where another one, which it meets, has many.
func standsFor(a, many domain.Axis) bool {
	return isOne(a) && !isOne(many) || a.Extent.Size == 1 && many.Extent.Size > 1
}

// alike reports whether axes have the same extents.
func alike(a, b []domain.Axis) bool {
	return slices.EqualFunc(a, b, func(x, y domain.Axis) bool { return x.Extent.Size == y.Extent.Size && isOne(x) == isOne(y) })
}

// stretch is the axes that elementwise operations on two tensors give.
func stretch(a, b []domain.Axis) []domain.Axis {
	if len(a) < len(b) {
		a, b = b, a
	}
	axes := slices.Clone(a)
	for i, axis := range b {
		if at := len(a) - len(b) + i; standsFor(axes[at], axis) {
			axes[at] = axis
		}
	}
	return axes
}

// inserted finds the one axis of one element that another list of axes has more.
func inserted(have, want []domain.Axis) (int, bool) {
	if len(want) != len(have)+1 {
		return 0, false
	}
	for i := range want {
		if isOne(want[i]) && alike(slices.Delete(slices.Clone(want), i, i+1), have) {
			return i, true
		}
	}
	return 0, false
}

// ready is a gradient with all elements along the axes that an operand was stretched along, which are to be summed.
func (b *backward) ready(v value, op *model.WrittenOp) value {
	out := b.axes(op.Out[0])
	for i, t := range op.In {
		if b.wants(op, i) && len(b.summed(part{value: value{axes: out}, along: out}, t)) > len(b.summed(part{value: v, along: out}, t)) {
			return b.full(v, op.Out[0])
		}
	}
	return v
}
