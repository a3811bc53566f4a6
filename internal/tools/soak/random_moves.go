package soak

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

func (g *generator) set() bool {
	v := g.any()
	m := v.mesh
	if g.chance(0.3) {
		m = g.mesh()
	}
	g.laidResult(on("set", v), g.placed(v.shape(), m, 0.5, 0.3), &value{dtype: v.dtype, mesh: m})
	return true
}

func (g *generator) permute() bool {
	v := g.any()
	perm := g.Perm(len(v.axes))
	g.add(on("permute", v).with(permutation(perm)), lists.Map(perm, func(p int) domain.Axis { return v.axes[p] }), v)
	return true
}

// positions adds the positions along an axis of a tensor.
func (g *generator) positions() bool {
	v := g.any()
	at := g.IntN(len(v.axes))
	g.add(g.along("positions", at, v), v.axes[at:at+1], v.as(domain.FP32))
	return true
}

// slice takes a part of an axis that is not split over ranks.
func (g *generator) slice() bool {
	v := g.any()
	at := g.IntN(len(v.axes))
	extent := v.axes[at].Size
	if v.axes[at].Kind == domain.Device {
		return false
	}
	start := g.Int64N(extent)
	size := 1 + g.Int64N(extent-start)
	attrs := []Attr{g.axisAttr(at, len(v.axes))}
	if start > 0 || g.chance(0.5) {
		attrs = append(attrs, number("start", start))
	}
	if g.chance(0.5) {
		attrs = append(attrs, number("size", size))
	} else {
		attrs = append(attrs, number("stop", start+size))
	}
	axes := slices.Clone(v.axes)
	axes[at] = serialAxis(size)
	g.addParts(on("slice", v).with(attrs...), axes, at, v)
	return true
}

// concat joins a tensor with others that differ in the extent of one axis, or with itself.
func (g *generator) concat() bool {
	v := g.any()
	at := g.IntN(len(v.axes))
	op, total := g.along("concat", at, v), v.axes[at].Size
	if v.axes[at].Kind == domain.Device {
		return false
	}
	for range 1 + g.IntN(2) {
		other := v
		if shape := slices.Clone(v.shape()); g.chance(0.8) {
			shape[at] = g.extent()
			if other = g.inputLike(shape, v); other.axes[at].Kind == domain.Device {
				return false
			}
		}
		op.In, total = append(op.In, other.name), total+other.axes[at].Size
	}
	axes := slices.Clone(v.axes)
	axes[at] = serialAxis(total)
	if product(v.shape())/v.shape()[at]*total > maxElements {
		return false
	}
	g.addParts(op, axes, at, v)
	return true
}

// addParts adds an operation whose result is serial along one axis.
func (g *generator) addParts(op Op, axes []domain.Axis, at int, like *value) {
	out := g.result(op, axes, like)
	if g.chance(0.4) {
		g.annotation(out)
		out.axes = slices.Clone(out.axes)
		out.axes[at] = axes[at]
		g.declare(out, out.axes)
	}
}

func (g *generator) broadcast() bool {
	v := g.any()
	if len(v.axes) >= maxAxes {
		return false
	}
	at := g.IntN(len(v.axes) + 1)
	axes := slices.Insert(slices.Clone(v.axes), at, domain.Stretched())
	g.add(on("broadcast", v).with(g.axisAttr(at, len(axes))), axes, v)
	return true
}

// cast casts a tensor. Sometimes it first casts to an 8-bit type, with set, permute or broadcast between the two casts.
func (g *generator) cast() bool {
	v, first := g.any(), len(g.known)
	cast := func(types ...domain.DType) {
		to := pick(g, types...)
		v = g.add(castTo(v, to), v.axes, v.as(to))
	}
	if g.chance(0.3) {
		cast(domain.FP8E4M3, domain.FP8E5M2)
		known := g.known
		for g.known = known[first:]; g.chance(0.5); {
			pick(g, g.set, g.permute, g.broadcast)()
		}
		v, g.known = g.any(), append(known[:first:first], g.known...)
	}
	cast(domain.DTypes...)
	g.forget()
	return true
}
