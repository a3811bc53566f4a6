package soak

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// twoMoves begins with two sums over ranks in one loop over slices, with a local operation on the way from the first to the second. The
// schedule may issue transfers ahead.
func (g *generator) twoMoves() {
	ranks := &g.spec.World.Axes[0]
	ranks.Size = max(ranks.Size, 2)
	over := domain.Axis{Kind: domain.Device, Mesh: ranks.Name, Extent: domain.Extent{Size: ranks.Size}}
	count, columns := serialAxis(pick[int64](g, 2, 3, 4)), serialAxis(pick(g, g.extents...))
	streamed := count
	streamed.Kind = domain.Stream
	parts := g.laid([]domain.Axis{count, over, columns}, g.spec.World)
	if g.chance(0.5) {
		parts = g.laidResult(Op{Fn: pick(g, "relu", "silu")}, []domain.Axis{streamed, over, columns}, parts, parts.mesh, parts)
	}
	first := g.laidResult(Op{Fn: pick(g, "sum", "sum", "max"), Attrs: []Attr{g.axisAttr(1, 3)}}, []domain.Axis{streamed, columns}, parts,
		parts.mesh, parts)
	made := g.result(Op{Fn: pick(g, "relu", "normalize", "neg"), In: []string{first.name}}, first.axes, first.dtype, first.mesh)
	row := slices.Insert(slices.Clone(made.axes), 1, serialAxis(1))
	made = g.result(Op{Fn: "broadcast", In: []string{made.name}, Attrs: []Attr{{Name: "axis", Value: "1"}}}, row, made.dtype, made.mesh)
	weights := g.laid([]domain.Axis{count, over, columns}, g.spec.World)
	product := g.laidResult(Op{Fn: "mul"}, []domain.Axis{streamed, over, columns}, weights, weights.mesh, weights, made)
	g.laidResult(Op{Fn: "sum", Attrs: []Attr{g.axisAttr(1, 3)}}, []domain.Axis{streamed, columns}, product, product.mesh, product)
	g.field(pick(g, schedule.All, first.name), schedule.Lead, pick(g, "1", "1", "2", schedule.All, schedule.None))
	if g.chance(0.3) {
		g.field("", schedule.Pipeline, pick(g, schedule.Collective, schedule.P2P))
	}
}
