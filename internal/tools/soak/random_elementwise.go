package soak

import (
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

func (g *generator) unary() bool {
	v := g.any()
	fn := pick(g, "neg", "relu", "relu", "neg")
	if g.chance(0.4) {
		fn = pick(g, model.UnaryFns...)
	}
	g.add(on(fn, v), v.axes, v)
	return true
}

func (g *generator) constant() bool {
	v := g.any()
	by := pick(g, "2", "-1", "3", "0.5", "1e-3", "16", "-0.25", "1/(2*3)", "sqrt(2)")
	if g.chance(0.2) {
		g.add(on("clamp", v).with(word("max", by), word("min", pick(g, "-1", "-0.5", "1"))), v.axes, v)
		return true
	}
	g.add(on(pick(g, model.ConstantFns...), v).with(word("by", by)), v.axes, v)
	return true
}

// binary combines a tensor with itself, with another tensor of its shape, with a mask, or with a new tensor. In the last two
// cases, one operand may be broadcast to the other.
func (g *generator) binary() bool {
	a := g.any()
	fn := pick(g, "add", "add", "sub", "mul", "max", "min")
	if g.chance(0.2) {
		fn = pick(g, "div", "ge", "gt", "eq", "keep", "drop", "masked")
	}
	if slices.Contains([]string{"keep", "drop", "masked"}, fn) && g.chance(0.5) {
		g.add(on(fn, a, g.mask(a)), a.axes, a)
		return true
	}
	b := g.partner(a)
	axes := a.axes
	for i := range axes {
		if j := i - len(axes) + len(b.axes); j >= 0 && axes[i].Size == 1 {
			axes = slices.Clone(axes)
			axes[i] = b.axes[j]
		}
	}
	op := on(fn, a, b)
	if g.chance(0.2) {
		slices.Reverse(op.In)
	}
	g.add(op, axes, a)
	return true
}

// mask returns a new tensor that selects elements of v.
func (g *generator) mask(v *value) *value {
	input, dtype := g.inputOf, pick(g, domain.AllDTypes...)
	if !dtype.Computes() {
		input = g.integers
	}
	return input(v.shape()[g.IntN(len(v.axes)):], dtype, v.mesh)
}

func (g *generator) partner(a *value) *value {
	for range 4 {
		if b := g.any(); b != a && b.dtype == a.dtype && slices.Equal(b.shape(), a.shape()) {
			return b
		}
	}
	if g.chance(0.1) {
		return a
	}
	shape := slices.Clone(a.shape())
	shape = shape[min(len(shape)-1, max(0, g.IntN(len(shape)+2)-2)):]
	for i, extent := range shape {
		switch {
		case g.chance(0.15):
			shape[i] = 1
		case extent == 1 && product(a.shape())*4 <= maxElements && g.chance(0.4):
			shape[i] = g.extent()
		}
	}
	return g.inputLike(shape, a)
}
