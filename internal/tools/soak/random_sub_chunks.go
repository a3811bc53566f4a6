package soak

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// subChunks begins with a p2p pipeline whose slices are split into sub-chunks: a gather, or a sum. Its kernels may
// reduce along rows, have several results, and broadcast axes.
func (g *generator) subChunks() {
	ranks, parts := g.severalRanks(), pick[int64](g, 2, 2, 3)
	g.extents = []int64{1, parts, 2 * parts, ranks.Size}
	over := ranks.device()
	slice := serialAxes(nil, g.shape(1+g.IntN(2))...)
	if g.chance(0.5) {
		slice[0].Size = parts
	}
	g.field("", schedule.Pipeline, schedule.P2P)
	g.field(schedule.All, schedule.Split, strconv.FormatInt(parts, 10))
	if g.chance(0.6) {
		g.gatherInSubChunks(over, slice)
	} else {
		g.sumInSubChunks(over, slice)
	}
	if g.chance(0.3) {
		g.viewInSubChunks(over.Extent, slice)
	}
}

// field sets a field of the schedule that a kind of specs needs.
func (g *generator) field(of, name, value string) {
	g.fields = append(g.fields, model.Setting{Path: schedule.Path(of, name), Value: value})
}

func (g *generator) gatherInSubChunks(over domain.Axis, slice []domain.Axis) {
	shard := g.laid(slices.Concat([]domain.Axis{over}, slice), g.spec.World)
	v := g.laidResult(on("set", shard), slices.Concat([]domain.Axis{{Kind: domain.Stream, Extent: over.Extent}}, slice), shard)
	if g.chance(0.5) {
		v = g.result(on(pick(g, "relu", "silu"), v), v.axes, v)
	}
	g.focused(v, 2+g.IntN(2), (*generator).composite, (*generator).binary, (*generator).unary, (*generator).matmul, (*generator).linear,
		(*generator).reduce,
		(*generator).dropout, (*generator).permute, (*generator).slice, (*generator).concat, (*generator).broadcast, (*generator).mergedAxes)
}

// mergedAxes merges all axes of a tensor after its first one. It returns false if there are fewer than three axes.
func (g *generator) mergedAxes() bool {
	v := g.any()
	if len(v.axes) < 3 {
		return false
	}
	shape := []int64{v.shape()[0], product(v.shape()[1:])}
	merged := g.result(on("reshape", v).with(listed("shape", shape)),
		[]domain.Axis{v.axes[0], serialAxis(shape[1])}, v)

	g.add(on("set", merged), merged.axes, v)
	return true
}

// viewInSubChunks reads an input in the pipeline through a view of another shape.
func (g *generator) viewInSubChunks(count domain.Extent, slice []domain.Axis) {
	axes := append([]domain.Axis{{Kind: domain.Stream, Extent: count}}, slice...)
	in := g.laid(serialAxes(nil, count.Size, product(domain.Shape(slice))), g.spec.World)
	view := g.result(on("reshape", in).with(listed("shape", domain.Shape(axes))), axes,
		in)

	g.laidResult(on(pick(g, "set", "relu"), view), axes, view)
}

// sumInSubChunks adds a sum over ranks whose operand another operation computes.
func (g *generator) sumInSubChunks(over domain.Axis, slice []domain.Axis) {
	axes := slices.Concat([]domain.Axis{over, {Kind: domain.Stream, Extent: over.Extent}}, slice)
	v := g.partsOf(axes)
	g.laidResult(g.along("sum", 0, v), slices.Concat([]domain.Axis{over}, v.axes[2:]), v)
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

// partsOf computes the partial sums, with a Stream axis: by a kernel that broadcasts an axis or reduces along rows,
// or by an operation that needs whole axes.
func (g *generator) partsOf(axes []domain.Axis) *value {
	input := func(change func([]domain.Axis)) *value {
		in := slices.Clone(axes)
		in[1].Kind = domain.Serial
		change(in)
		return g.laid(in, g.spec.World)
	}
	at := 2 + g.IntN(len(axes)-2)
	size := axes[at].Size
	resize := func(n int64) func([]domain.Axis) {
		return func(in []domain.Axis) { in[at].Size = n }
	}
	a := input(resize(pick(g, 1, size)))
	switch g.IntN(5) {
	case 0:
		a, b := input(resize(size)), input(resize(pick[int64](g, 1, 2)))
		both := size + b.axes[at].Size
		axes[at].Size = both
		return g.laidResult(g.along("concat", at, a, b), slices.Clone(axes), a)
	case 1:
		a := input(resize(size + 1))
		return g.laidResult(on("slice", a).with(g.axisAttr(at, len(axes)), number("start", 1), number("size", size)),
			slices.Clone(axes), a)

	case 2:
		a := g.laid([]domain.Axis{axes[0], serialAxis(axes[1].Size), serialAxis(product(domain.Shape(axes[2:])))}, g.spec.World)
		return g.laidResult(on("reshape", a).with(listed("shape", domain.Shape(axes))), slices.Clone(axes), a)
	case 3:
		a := input(resize(size))
		return g.laidResult(on("normalize", a), slices.Clone(axes), a)
	default:
		b := input(resize(size))
		a = g.result(on(pick(g, "relu", "silu"), a), a.axes, a)
		return g.laidResult(on(pick(g, "add", "mul"), b, a), slices.Clone(axes), a)
	}
}
