package soak

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// exchangedRows begins with an exchange of rows: a sum over ranks that is whole on all ranks, a sum of which each rank
// has a part, or a gather. The operand of a sum is an input, or the result of an operation. Other operations read the
// result. Rows are long enough for kernels that exchange rows.
func (g *generator) exchangedRows() {
	ranks := g.severalRanks()
	shape := []int64{pick[int64](g, 1, 2, 3, 5), pick[int64](g, 256, 260, 512)}
	field, value := schedule.Block, fmt.Sprint(ranks.Size) // one GEMM for the shards of all ranks
	switch g.IntN(4) {
	case 0:
		g.gatheredRows(ranks.device(), shape)
	case 1:
		g.scatteredRows(ranks.device(), shape)
	default:
		field, value = schedule.Fuse, schedule.Exchange
		g.summedRows(ranks.device(), shape)
	}
	g.field("", schedule.Pipeline, schedule.P2P)
	g.field(schedule.All, schedule.Via, schedule.IPCPut)
	g.field(schedule.All, schedule.Copy, schedule.SM)
	g.field(schedule.All, field, value)
	g.field(schedule.All, schedule.Signals, pick(g, schedule.Single, schedule.Batched))
	if g.chance(0.5) {
		g.field("", schedule.Graph, schedule.True)
	}
}

// severalRanks returns the first axis of the world, which has at least two ranks afterwards.
func (g *generator) severalRanks() *MeshAxis {
	ranks := &g.spec.World.Axes[0]
	ranks.Size = max(ranks.Size, 2)
	return ranks
}

// summedRows adds a sum over ranks whose result is whole on every rank, and operations that read it.
func (g *generator) summedRows(device domain.Axis, shape []int64) {
	v := g.laid(split(device, shape...), g.spec.World)
	if g.chance(0.5) {
		v = g.result(on(pick(g, "relu", "neg"), v), v.axes, v)
	}
	g.readRows(g.result(g.along("sum", 0, v), v.axes[1:], v))
}

// scatteredRows adds a matmul and a sum of its results over ranks. Each rank has a part of the sum, which other
// operations read.
func (g *generator) scatteredRows(device domain.Axis, shape []int64) {
	a := g.laid(split(device, device.Size, shape[0], 3), g.spec.World)
	w := g.laid(split(device, 3, shape[1]), g.spec.World)
	p := g.result(on("matmul", a, w), split(device, device.Size, shape[0], shape[1]), a)
	g.readRows(g.laidResult(g.along("sum", 0, p), split(device, shape...), p))
}

// gatheredRows adds the gather of an input, and a matmul of the result.
func (g *generator) gatheredRows(device domain.Axis, shape []int64) {
	v := g.laid(split(device, shape...), g.spec.World)
	all := g.laidResult(on("set", v), serialAxes(nil, device.Size, shape[0], shape[1]), v)
	w := g.laid(serialAxes(nil, shape[1], 3), g.spec.World)
	g.readRows(g.result(on("matmul", all, w), serialAxes(nil, device.Size, shape[0], 3), all))
}

// readRows adds operations that read a result.
func (g *generator) readRows(v *value) {
	g.focused(v, 1+g.IntN(3), (*generator).composite, (*generator).binary, (*generator).unary, (*generator).reduce, (*generator).cast,
		(*generator).slice, (*generator).set)
}

// exchangesRows reports whether the schedule has fuse: exchange or copy: sm, with which kernels may send rows to other
// ranks.
func exchangesRows(_ *model.Pipeline, p *hostir.Program) bool {
	return p.Choices.Any(schedule.Fuse, schedule.Exchange) || p.Choices.Any(schedule.Copy, schedule.SM)
}
