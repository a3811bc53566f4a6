package soak

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// scatterAdd adds a scatter_add: indices select the row of the result to which each row of a tensor is added.
func (g *generator) scatterAdd() bool { return g.scattered(g.any()) != nil }

// scattered adds a scatter_add of the rows of v. The result has one block of rows, several, or one for each batch. scattered
// returns nil if the result could be too large or has too many axes.
func (g *generator) scattered(v *value) *value {
	rows := g.extent()
	lead := 1 + g.IntN(len(v.axes))
	attrs, axes := []Attr{number("rows", rows)}, []domain.Axis{serialAxis(rows)}
	switch {
	case lead > 1 && g.chance(0.5):
		batches := 1 + g.IntN(lead-1)
		attrs = append(attrs, number("batches", int64(batches)))
		axes = slices.Concat(v.axes[:batches], axes)
	case g.chance(0.5):
		blocks := g.extent()
		attrs, axes = append(attrs, number("blocks", blocks)), slices.Insert(axes, 0, serialAxis(blocks))
	}
	axes = append(axes, v.axes[lead:]...)
	if len(axes) > maxAxes || product(v.shape())*rows*axes[0].Size > maxElements {
		return nil
	}
	known := slices.Clone(g.known)
	ids := g.integers(v.shape()[:lead], pick(g, domain.Int32, domain.Int64), v.mesh)
	g.known = known
	return g.add(on("scatter_add", ids, v).with(attrs...), g.sound(axes), v)
}

// topK takes the largest elements of rows, and their indices.
func (g *generator) topK() bool {
	v := g.any()
	last := len(v.axes) - 1
	k := 1 + g.Int64N(min(v.axes[last].Size, pick[int64](g, 4, 4, 20)))
	axes := append(slices.Clone(v.axes[:last]), serialAxis(k))
	g.add(on("top_k", v).with(number("k", k)), axes, v)
	g.whole(g.further(axes, v.as(domain.Int32)))
	return true
}

// cumsum adds up the elements along an axis.
func (g *generator) cumsum() bool {
	v := g.any()
	op := on("cumsum", v).with(g.axisAttr(g.IntN(len(v.axes)), len(v.axes)))
	for _, name := range []string{"exclusive", "reverse"} {
		if g.chance(0.3) {
			op = op.with(word(name, "true"))
		}
	}
	g.add(op, v.axes, v)
	return true
}
