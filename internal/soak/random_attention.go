package soak

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/model/domain"
)

// attention adds one of a tensor that is there, or of a new one, and of keys and values that may be one tensor.
func (g *generator) attention() bool {
	q := g.any()
	if len(q.axes) < 3 {
		q = g.input(g.shape(3 + g.IntN(2)))
	}
	shape := q.shape()
	n := len(shape)
	keys := slices.Clone(shape)
	if heads := shape[n-3]; g.chance(0.5) {
		keys[n-3] = pick(g, 1, heads, heads/(2-heads%2))
	}
	keys[n-2] = pick(g, g.extents...)
	op := Op{Fn: "attention", In: []string{q.name}}
	if g.chance(0.5) {
		keys[n-2] = max(keys[n-2], shape[n-2])
		op.Attrs = append(op.Attrs, Attr{Name: "causal", Value: "true"})
		if g.chance(0.3) {
			op.Attrs = append(op.Attrs, Attr{Name: "window", Value: strconv.FormatInt(1+g.Int64N(keys[n-2]), 10)})
		}
	}
	op.In = append(op.In, g.operand(q, keys).name, g.operand(q, keys).name)
	if product(shape) > maxElements || product(keys) > maxElements {
		g.drop(op)
		return false
	}
	axes := slices.Clone(q.axes)
	for i := range axes {
		if i >= n-2 || axes[i].Kind == domain.Stream || i == n-3 && keys[i] != 1 && keys[i] != shape[i] {
			axes[i] = serialAxis(shape[i])
		}
	}
	g.add(op, g.sound(axes), q.dtype, q.mesh)
	return true
}
