package soak

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// reduced returns the axis of a declared result that its operation reduces.
func reduced(extent domain.Extent) domain.Axis {
	return domain.Axis{Kind: domain.Reduction, Extent: extent}
}

// wider chooses the element type of the result of a matmul or a reduction: t, or sometimes fp32.
func (g *generator) wider(t domain.DType) domain.DType {
	if g.chance(0.15) {
		return domain.FP32
	}
	return t
}

// addWide is add for an operation that may have an fp32 result. Such a result must be declared.
func (g *generator) addWide(op Op, axes []domain.Axis, v *value) *value {
	dtype := g.wider(v.dtype)
	if dtype == v.dtype {
		return g.add(op, axes, v)
	}
	out := g.result(op, axes, v.as(dtype))
	g.declare(out, g.annotation(out))
	return out
}

func (g *generator) reduce() bool {
	v := g.any()
	at := g.IntN(len(v.axes))
	if split := slices.IndexFunc(v.axes, func(a domain.Axis) bool { return a.Kind == domain.Device }); split >= 0 && g.chance(0.6) {
		at = split
	}
	fn := pick(g, "sum", "sum", "sum", "sum", "max", "min")
	if g.chance(0.05) {
		fn = "prod"
	}
	op := g.along(fn, at, v)
	if len(v.axes) == 1 {
		g.addWide(op, []domain.Axis{{Kind: domain.Serial, Extent: domain.Extent{Size: 1}}}, v)
		return true
	}
	axes := lists.Without(v.axes, at)
	out := g.addWide(op, axes, v)
	g.listReduced(out, reduced(v.axes[at].Extent), at)
	return true
}

// listReduced sometimes adds the reduced axis to the declaration of the result, if there is one.
func (g *generator) listReduced(v *value, reduced domain.Axis, at int) {
	if i := g.spec.declared(v.name); i >= 0 && g.chance(0.5) {
		g.spec.Tensors[i].Axes = slices.Insert(g.spec.Tensors[i].Axes, at, reduced)
	}
}
