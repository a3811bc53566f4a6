package soak

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// truncated converts a tensor to integers, and computes with these.
func (g *generator) truncated() bool {
	v, dtype := g.any(), pick(g, domain.Int32, domain.Int32, domain.Int64)
	if g.chance(0.5) {
		v = g.add(on("scale", v).with(word("by", "3")), v.axes, v)
	}
	g.whole(g.add(castTo(v, dtype), v.axes, v.as(dtype)))
	return true
}

// whole adds operations on integers that an operation computed: arithmetic, a reduction or a top_k. Then it uses them
// as the indices of a gather or casts them to fp32. Last it forgets tensors of integers, because other operations do
// not take them.
func (g *generator) whole(v *value) {
	for g.chance(0.5) {
		v = g.arithmetic(v)
	}
	if len(v.axes) > 1 && g.chance(0.2) {
		at := g.IntN(len(v.axes))
		fn := pick(g, "sum", "sum", "max", "min")
		v = g.add(g.along(fn, at, v), lists.Without(v.axes, at), v)
	}
	if last := len(v.axes) - 1; len(v.axes) > 0 && g.chance(0.15) {
		k := 1 + g.Int64N(min(v.axes[last].Size, 4))
		axes := append(slices.Clone(v.axes[:last]), serialAxis(k))
		v = g.add(on("top_k", v).with(number("k", k)), axes, v)
		g.further(axes, v.as(domain.Int32))
	}
	if len(v.axes) > 0 && g.chance(0.2) {
		if sums := g.scattered(v); sums != nil {
			v = sums
		}
	}
	rows, columns := g.extent(), g.extent()
	if len(v.axes) < maxAxes && product(v.shape())*rows*columns <= maxElements && g.chance(0.6) {
		table := g.inputOf([]int64{rows, columns}, pick(g, domain.DTypes...), v.mesh)
		g.add(on("gather", table, v), slices.Concat(v.axes, []domain.Axis{serialAxis(columns)}), table)
	} else {
		g.add(castTo(v, domain.FP32), v.axes, v.as(domain.FP32))
	}
	g.forget()
}

// arithmetic adds an operation on a tensor of integers: with no other operand, with a number, with an input, or with a
// mask.
func (g *generator) arithmetic(v *value) *value {
	switch g.IntN(4) {
	case 0:
		return g.add(on(pick(g, "neg", "abs", "relu", "sign", "set"), v), v.axes, v)
	case 1:
		return g.add(on(pick(g, "scale", "shift", "clamp_min", "clamp_max"), v).with(word("by", pick(g, "2", "-1", "3"))), v.axes, v)
	case 2:
		return g.add(on("where", g.mask(v), v, v), v.axes, v)
	}
	known := slices.Clone(g.known)
	other := g.integers(v.shape(), v.dtype, v.mesh)
	g.known = known
	return g.add(on(pick(g, "add", "sub", "mul", "max", "min", "ge", "gt", "eq", "keep"), v, other), v.axes, v)
}
