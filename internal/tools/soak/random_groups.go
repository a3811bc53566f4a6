package soak

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// collectives begins with two to four sums or gathers over ranks that do not depend on each other.
func (g *generator) collectives() {
	ranks := g.severalRanks()
	over := ranks.device()
	sums := g.chance(0.5)
	for range 2 + g.IntN(3) {
		columns := serialAxis(g.extent())
		v := g.laid([]domain.Axis{over, columns}, g.spec.World)
		if g.chance(0.3) {
			v = g.laidResult(on(pick(g, "relu", "neg"), v), v.axes, v)
		}
		if sums {
			g.laidResult(g.along("sum", 0, v), []domain.Axis{columns}, v)
		} else {
			g.laidResult(on("set", v), []domain.Axis{serialAxis(ranks.Size), columns}, v)
		}
	}
	g.field(schedule.All, schedule.Via, schedule.NCCL)
}

// groupsCollectives reports whether a program has a collective directly after the start of a group of NCCL calls.
func groupsCollectives(_ *model.Pipeline, p *hostir.Program) bool {
	before := false
	for s := range hostir.All(p.Body) {
		if hostir.Is[*hostir.Communication](s) && before {
			return true
		}
		before = hostir.Is[*hostir.StartCoalescing](s)
	}
	return false
}
