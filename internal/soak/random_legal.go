package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// everyLegal: one number in so many is a spec that must be accepted.
const everyLegal = 16

// MakeLegal makes up a spec that the documentation allows in each of its choices, so that any refusal
// is a finding: refusals with a documented error say nothing in other specs. Its forms are products with
// batches, which rules for pipelines and for the order in memory like to leave out.
func MakeLegal(seed, number uint64) Spec {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, number))} //nolint:gosec // no secret depends on it
	g.spec = Spec{Name: fmt.Sprintf("soak%d", number), DType: pick(g, domain.DTypes...), Legal: true}
	g.spec.World = Mesh{Name: "world", Axes: []MeshAxis{{"x", pick[int64](g, 2, 2, 3, 4)}}}
	g.extents = []int64{1, g.spec.World.Axes[0].Size, 2, 3, 4}
	pick(g, (*generator).streamedRows, (*generator).streamedBatches, (*generator).turnedBatches)(g)
	g.spec.Schedule = []model.Setting{{Path: schedule.Reshard, Value: pick(g, schedule.Before, schedule.After)}}
	if g.chance(0.25) {
		g.spec.Schedule = append(g.spec.Schedule, model.Setting{Path: schedule.Preset, Value: schedule.Eager})
	} else {
		g.spec.Schedule = append(g.spec.Schedule, model.Setting{Path: schedule.Pipeline, Value: pick(g, schedule.Collective, schedule.P2P)})
		g.fitting() // p2p is a mistake where nothing crosses ranks
	}
	return g.spec
}

// streamedRows is a product with batches whose pipeline runs along its rows.
func (g *generator) streamedRows() {
	batch := g.shape(1 + g.IntN(2))
	p := g.batched(batch, batch)
	p.out[len(batch)].Kind = domain.Stream
	if g.chance(0.4) && batch[0] == g.spec.World.Axes[0].Size {
		for _, axes := range [][]domain.Axis{p.first, p.second, p.out} {
			axes[0].Kind, axes[0].Mesh = domain.Device, "x"
		}
	}
	g.multiplied(p)
}

// streamedBatches is one whose pipeline runs along batches that the second operand alone has.
func (g *generator) streamedBatches() {
	batch := g.shape(1 + g.IntN(2))
	p := g.batched(batch[1:], batch)
	p.out[0].Kind = domain.Stream
	g.multiplied(p)
}

// turnedBatches is one of transposed operands, some of which have to be moved to other ranks.
func (g *generator) turnedBatches() {
	batch := g.shape(1 + g.IntN(2))
	p := g.batched(batch, batch[g.IntN(len(batch)):])
	p.turn = true
	for _, axes := range [][]domain.Axis{p.first, p.second, p.out} {
		if at := g.serial(axes, g.spec.World.Axes[0].Size); at >= 0 && g.chance(0.5) {
			axes[at].Kind, axes[at].Mesh = domain.Device, "x"
		}
	}
	g.multiplied(p)
}

// factors are the axes of a product.
type factors struct {
	first, second, out []domain.Axis
	linear, turn       bool
}

// batched chooses the matrices of a product whose operands have these batches; the longer ones are those of
// the result.
func (g *generator) batched(first, second []int64) factors {
	m, k, n := pick[int64](g, 2, 3, 4), pick(g, g.extents...), pick(g, g.extents...)
	p := factors{linear: g.chance(0.4)}
	matrix := []int64{k, n}
	if p.linear {
		matrix = []int64{n, k}
	}
	batch := first
	if len(second) > len(first) {
		batch = second
	}
	p.first, p.second, p.out = serialAxes(first, m, k), serialAxes(second, matrix...), serialAxes(batch, m, n)
	return p
}

func serialAxes(batch []int64, matrix ...int64) []domain.Axis {
	var axes []domain.Axis
	for _, extent := range slices.Concat(batch, matrix) {
		axes = append(axes, serialAxis(extent))
	}
	return axes
}

// multiplied writes a product, with its operands and a declared result.
func (g *generator) multiplied(p factors) {
	a, b := g.turned(p.first, p.turn), g.turned(p.second, p.turn)
	fn := "matmul"
	if p.linear {
		fn = "linear"
	}
	g.laidResult(Op{Fn: fn}, p.out, a, g.spec.World, a, b)
}

// turned is an input with these axes, or an input with the same in another order that is permuted.
func (g *generator) turned(axes []domain.Axis, turn bool) *value {
	if !turn {
		return g.laid(axes, g.spec.World)
	}
	perm, lies := g.Perm(len(axes)), make([]domain.Axis, len(axes))
	list := make([]int64, len(axes))
	for i, p := range perm {
		lies[p], list[i] = axes[i], int64(p)
	}
	in := g.laid(lies, g.spec.World)
	return g.result(Op{Fn: "permute", In: []string{in.name}, Attrs: []Attr{{Name: "perm", List: list}}}, axes, in.dtype, in.mesh)
}
