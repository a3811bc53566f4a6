package soak

import (
	"strconv"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// subChunks begins with a gather from rank to rank in sub-chunks, and operations in its pipeline: kernels that fold rows, that
// have several results, and that other operations read.
func (g *generator) subChunks() {
	ranks, parts := &g.spec.World.Axes[0], pick[int64](g, 2, 2, 3)
	ranks.Size = max(ranks.Size, 2)
	g.extents = []int64{1, parts, 2 * parts, ranks.Size}
	over := domain.Axis{Kind: domain.Device, Mesh: ranks.Name, Extent: domain.Extent{Size: ranks.Size}}
	axes := append([]domain.Axis{over}, serialAxes(nil, g.shape(1+g.IntN(2))...)...)
	if g.chance(0.5) {
		axes[1].Extent.Size = parts
	}
	shard := g.laid(axes, g.spec.World)
	streamed := append([]domain.Axis{{Kind: domain.Stream, Extent: over.Extent}}, axes[1:]...)
	v := g.laidResult(Op{Fn: "set"}, streamed, shard, shard.mesh, shard)
	if g.chance(0.5) {
		v = g.result(Op{Fn: pick(g, "relu", "silu"), In: []string{v.name}}, v.axes, v.dtype, v.mesh)
	}
	g.focused(v, 2+g.IntN(2), (*generator).composite, (*generator).binary, (*generator).unary, (*generator).matmul, (*generator).linear, (*generator).reduce)
	g.fields = []model.Setting{
		{Path: schedule.Pipeline, Value: schedule.P2P},
		{Path: schedule.Path(schedule.All, schedule.Split), Value: strconv.FormatInt(parts, 10)},
	}
}
