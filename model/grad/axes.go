package grad

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// one is an axis of one element that stretches to any extent.
var one = domain.Axis{Kind: domain.Broadcast, Extent: domain.Extent{Size: 1}}

// isOne reports whether an axis has one element whatever the values of the parameters.
func isOne(a domain.Axis) bool {
	return a.Size == 1 && (a.Kind == domain.Broadcast || a.Text == "")
}

// stretchesTo reports whether a is an axis of one element that stretches to the axis many.
func stretchesTo(a, many domain.Axis) bool {
	return isOne(a) && !isOne(many) || a.Size == 1 && many.Size > 1
}

// alike reports whether axes have the same sizes, and isOne is true for the same of them.
func alike(a, b []domain.Axis) bool {
	return slices.EqualFunc(a, b, func(x, y domain.Axis) bool { return x.Size == y.Size && isOne(x) == isOne(y) })
}

// stretch returns the axes of the result of an elementwise operation on two tensors.
func stretch(a, b []domain.Axis) []domain.Axis {
	if len(a) < len(b) {
		a, b = b, a
	}
	axes := slices.Clone(a)
	for i, axis := range b {
		if at := len(a) - len(b) + i; stretchesTo(axes[at], axis) {
			axes[at] = axis
		}
	}
	return axes
}

// inserted finds the axis of one element that want has in addition to the axes of have. It returns false if there is
// none.
func inserted(have, want []domain.Axis) (int, bool) {
	if len(want) != len(have)+1 {
		return 0, false
	}
	for i := range want {
		if isOne(want[i]) && alike(lists.Without(want, i), have) {
			return i, true
		}
	}
	return 0, false
}

// ready returns the gradient of the result. If the gradient has one element for an axis along which an operand was
// stretched, ready returns it with all elements, because the operand's gradient is a sum over that axis.
func (u use) ready() value {
	out, v := u.along(), u.dy[0]
	for i, t := range u.In {
		if u.wants(i) && len(u.summed(part{value: value{axes: out}, along: out}, t)) > len(u.summed(part{value: v, along: out}, t)) {
			return u.whole()
		}
	}
	return v
}
