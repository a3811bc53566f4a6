package soak

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// subChunks begins with a pipeline from rank to rank whose slices are cut into sub-chunks: a gather, or a sum. Its kernels fold
// rows, have several results, and stretch axes.
func (g *generator) subChunks() {
	ranks, parts := &g.spec.World.Axes[0], pick[int64](g, 2, 2, 3)
	ranks.Size = max(ranks.Size, 2)
	g.extents = []int64{1, parts, 2 * parts, ranks.Size}
	over := domain.Axis{Kind: domain.Device, Mesh: ranks.Name, Extent: domain.Extent{Size: ranks.Size}}
	slice := serialAxes(nil, g.shape(1+g.IntN(2))...)
	if g.chance(0.5) {
		slice[0].Extent.Size = parts
	}
	g.field("", schedule.Pipeline, schedule.P2P)
	g.field(schedule.All, schedule.Split, strconv.FormatInt(parts, 10))
	if g.chance(0.6) {
		g.gatherInSubChunks(over, slice)
	} else {
		g.sumInSubChunks(over, slice)
	}
}

// field sets a field of the schedule that a kind of specs needs.
func (g *generator) field(of, name, value string) {
	g.fields = append(g.fields, model.Setting{Path: schedule.Path(of, name), Value: value})
}

func (g *generator) gatherInSubChunks(over domain.Axis, slice []domain.Axis) {
	shard := g.laid(slices.Concat([]domain.Axis{over}, slice), g.spec.World)
	v := g.laidResult(Op{Fn: "set"}, slices.Concat([]domain.Axis{{Kind: domain.Stream, Extent: over.Extent}}, slice), shard, shard.mesh, shard)
	if g.chance(0.5) {
		v = g.result(Op{Fn: pick(g, "relu", "silu"), In: []string{v.name}}, v.axes, v.dtype, v.mesh)
	}
	g.focused(v, 2+g.IntN(2), (*generator).composite, (*generator).binary, (*generator).unary, (*generator).matmul, (*generator).linear, (*generator).reduce)
}

// sumInSubChunks sums what kernels make, over ranks. An axis of their operands may have one element, which stretches.
func (g *generator) sumInSubChunks(over domain.Axis, slice []domain.Axis) {
	split := slices.Concat([]domain.Axis{over, serialAxis(over.Extent.Size)}, slice)
	parts := slices.Clone(split)
	parts[1].Kind = domain.Stream
	thin := slices.Clone(split)
	if at := 2 + g.IntN(len(slice)); g.chance(0.5) {
		thin[at].Extent.Size = 1
	}
	a, b := g.laid(thin, g.spec.World), g.laid(split, g.spec.World)
	a = g.result(Op{Fn: pick(g, "relu", "silu"), In: []string{a.name}}, thin, a.dtype, a.mesh)
	if g.chance(0.5) {
		thin = slices.Clone(thin)
		thin[1].Kind = domain.Stream
		g.declare(a, thin)
	}
	v := g.laidResult(Op{Fn: pick(g, "add", "mul")}, parts, a, a.mesh, b, a)
	g.laidResult(Op{Fn: "sum", Attrs: []Attr{g.axisAttr(0, len(parts))}}, slices.Concat([]domain.Axis{over}, slice), v, v.mesh, v)
	switch g.IntN(4) {
	case 0:
		g.field(schedule.All, schedule.Block, "2")
		g.field(schedule.All, schedule.Interchange, schedule.True)
	case 1:
		g.field(schedule.All, schedule.Fuse, schedule.PeerRead)
		g.field(schedule.All, schedule.Via, schedule.IPCGet)
	case 2:
		g.field("", schedule.Preset, schedule.Reference)
		g.field("", schedule.LocalShard, schedule.Copied)
	}
}
