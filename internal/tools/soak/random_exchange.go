package soak

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// exchangedSum begins with a sum over ranks by an exchange of rows. Its operand is an input or the result of an operation. Readers of the
// sum follow. Rows have as many elements as kernels that exchange rows need.
func (g *generator) exchangedSum() {
	ranks := &g.spec.World.Axes[0]
	ranks.Size = max(ranks.Size, 2)
	shape := []int64{pick[int64](g, 1, 2, 3, 5), pick[int64](g, 256, 260, 512)}
	v := g.laid(append([]domain.Axis{ranks.device()}, serialAxes(nil, shape...)...), g.spec.World)
	if g.chance(0.5) {
		v = g.result(on(pick(g, "relu", "neg"), v), v.axes, v)
	}
	sum := g.result(on("sum", v).with(g.axisAttr(0, 3)), v.axes[1:], v)
	g.focused(sum, 1+g.IntN(3), (*generator).composite, (*generator).binary, (*generator).unary, (*generator).reduce, (*generator).cast,
		(*generator).slice, (*generator).set)
	g.field("", schedule.Pipeline, schedule.P2P)
	g.field(schedule.All, schedule.Via, schedule.IPCPut)
	g.field(schedule.All, schedule.Copy, schedule.SM)
	g.field(schedule.All, schedule.Fuse, schedule.Exchange)
	g.field(schedule.All, schedule.Signals, pick(g, schedule.Single, schedule.Batched))
	if g.chance(0.5) {
		g.field("", schedule.Graph, schedule.True)
	}
}

// exchangesParts reports whether ranks send each other the parts of a sum for the kernel that adds them.
func exchangesParts(_ *model.Pipeline, p *hostir.Program) bool {
	return p.Choices.Any(schedule.Fuse, schedule.Exchange)
}
