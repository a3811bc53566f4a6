package soak

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// twoMoves begins with two reductions over ranks in one loop over slices, with local operations on the way from the first
// to the second. The schedule may issue transfers ahead.
func (g *generator) twoMoves() {
	ranks := g.severalRanks()
	over := ranks.device()
	count, columns := serialAxis(pick[int64](g, 2, 3, 4)), serialAxis(g.extent())
	streamed := count
	streamed.Kind = domain.Stream
	parts := g.laid([]domain.Axis{count, over, columns}, g.spec.World)
	if g.chance(0.5) {
		parts = g.laidResult(on(pick(g, "relu", "silu"), parts), []domain.Axis{streamed, over, columns}, parts)
	}
	first := g.laidResult(g.along(pick(g, "sum", "sum", "max"), 1, parts), []domain.Axis{streamed, columns}, parts)

	made := g.result(on(pick(g, "relu", "normalize", "neg"), first), first.axes, first)
	row := slices.Insert(slices.Clone(made.axes), 1, serialAxis(1))
	made = g.result(on("broadcast", made).with(number("axis", 1)), row, made)
	weights := g.laid([]domain.Axis{count, over, columns}, g.spec.World)
	product := g.laidResult(on("mul", weights, made), []domain.Axis{streamed, over, columns}, weights)
	g.laidResult(g.along("sum", 1, product), []domain.Axis{streamed, columns}, product)
	g.field(pick(g, schedule.All, first.name), schedule.Lead, pick(g, "1", "1", "2", schedule.All, schedule.None))
	if g.chance(0.3) {
		g.field("", schedule.Pipeline, pick(g, schedule.Collective, schedule.P2P))
	}
}
