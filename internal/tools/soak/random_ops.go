package soak

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// makers lists functions that add an operation and return true, or return false if none fits. The probability of each
// is proportional to its weight.
var makers = []struct {
	weight int
	make   func(*generator) bool
}{
	{4, (*generator).set},
	{6, (*generator).matmul},
	{5, (*generator).linear},
	{3, (*generator).splitContraction},
	{2, (*generator).broadcast},
	{3, (*generator).permute},
	{4, (*generator).reshape},
	{2, (*generator).cast},
	{2, (*generator).unary},
	{2, (*generator).constant},
	{4, (*generator).binary},
	{5, (*generator).reduce},
	{3, (*generator).pipeline},
	{2, (*generator).composite},
	{3, (*generator).slice},
	{1, (*generator).positions},
	{2, (*generator).concat},
	{2, (*generator).attention},
	{2, (*generator).dropout},
	{1, (*generator).gather},
	{1, (*generator).quantized},
	{1, (*generator).scatterAdd},
	{1, (*generator).topK},
	{1, (*generator).cumsum},
	{1, (*generator).truncated},
}

// operation adds a random operation that fits. It gives up after 20 tries.
func (g *generator) operation() {
	total := 0
	for _, m := range makers {
		total += m.weight
	}
	for range 20 {
		n := g.IntN(total)
		for _, m := range makers {
			if n -= m.weight; n < 0 {
				if m.make(g) {
					return
				}
				break
			}
		}
	}
}

// add adds an operation whose result has these axes and the type and the mesh of like. Mostly it also declares the
// result, with the axes of annotation.
func (g *generator) add(op Op, axes []domain.Axis, like *value) *value {
	v := g.result(op, axes, like)
	if g.chance(0.65) {
		g.declare(v, g.annotation(v))
	}
	return v
}

// on returns an operation on tensors.
func on(fn string, in ...*value) Op {
	op := Op{Fn: fn}
	op.read(in...)
	return op
}

// along returns an operation on tensors along an axis of the first one.
func (g *generator) along(fn string, at int, in ...*value) Op {
	return on(fn, in...).with(g.axisAttr(at, len(in[0].axes)))
}

// castTo returns the operation that converts a tensor to another type.
func castTo(v *value, to domain.DType) Op { return on("cast", v).with(word("dtype", string(to))) }

// read adds operands.
func (o *Op) read(in ...*value) {
	for _, v := range in {
		o.In = append(o.In, v.name)
	}
}

// result adds an operation whose result has these axes and the type and the mesh of like, and is not declared.
func (g *generator) result(op Op, axes []domain.Axis, like *value) *value {
	g.results++
	op.Out = fmt.Sprintf("T%d", g.results)
	g.spec.Ops = append(g.spec.Ops, op)
	v := &value{name: op.Out, axes: slices.Clone(axes), dtype: like.dtype, mesh: like.mesh}
	g.known = append(g.known, v)
	return v
}

// annotation chooses the sharding of a result: the sharding that its operands give it, whole on every rank, or a new one.
func (g *generator) annotation(v *value) []domain.Axis {
	switch {
	case g.chance(0.35):
		v.axes = g.sound(v.axes)
	case g.chance(0.3):
		v.axes = g.placed(v.shape(), v.mesh, 0, 0.2)
	default:
		if g.chance(0.1) {
			v.mesh = g.mesh()
		}
		v.axes = g.placed(v.shape(), v.mesh, 0.6, 0.25)
	}
	return v.axes
}

// sound makes repeated kinds serial: at most one axis is split over each mesh axis, and at most one is a Stream axis.
func (g *generator) sound(axes []domain.Axis) []domain.Axis {
	seen := map[string]bool{}
	for i, a := range axes {
		key := fmt.Sprint(a.Kind, a.Mesh)
		if (a.Kind == domain.Device || a.Kind == domain.Stream) && seen[key] {
			axes[i] = serialAxis(a.Size)
		}
		seen[key] = true
	}
	return axes
}

func serialAxis(extent int64) domain.Axis { return domain.Axis{Extent: domain.Extent{Size: extent}} }

// axisAttr writes the number of an axis, sometimes counted from the end.
func (g *generator) axisAttr(at, axes int) Attr {
	if g.chance(0.2) {
		at -= axes
	}
	return number("axis", int64(at))
}
