package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// everyLegal is the interval of spec numbers: one of every 16 specs must be accepted.
const everyLegal = 16

// MakeLegal makes a random spec that the documentation allows, so that any refusal is a finding. In other specs, a
// refusal with a documented error is not a finding. The specs are matmuls with batches, a case that rules for pipelines
// and memory layouts easily miss.
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
		g.fitting() // p2p is an error without communication
	}
	return g.spec
}

// streamedRows makes a matmul with batches whose pipeline runs along its rows.
func (g *generator) streamedRows() {
	batch := g.shape(1 + g.IntN(2))
	p := g.batched(batch, batch)
	p.out[len(batch)].Kind = domain.Stream
	if g.chance(0.4) && batch[0] == g.spec.World.Axes[0].Size {
		for _, axes := range [][]domain.Axis{p.first, p.second, p.out} {
			axes[0].Place(domain.Device, "x")
		}
	}
	g.multiplied(p)
}

// streamedBatches makes a matmul whose pipeline runs along batches that only the second operand has.
func (g *generator) streamedBatches() {
	batch := g.shape(1 + g.IntN(2))
	p := g.batched(batch[1:], batch)
	p.out[0].Kind = domain.Stream
	g.multiplied(p)
}

// turnedBatches makes a matmul of permuted operands, which may have to move to other ranks.
func (g *generator) turnedBatches() {
	batch := g.shape(1 + g.IntN(2))
	p := g.batched(batch, batch[g.IntN(len(batch)):])
	p.turn = true
	for _, axes := range [][]domain.Axis{p.first, p.second, p.out} {
		if at := g.serial(axes, g.spec.World.Axes[0].Size); at >= 0 && g.chance(0.5) {
			axes[at].Place(domain.Device, "x")
		}
	}
	g.multiplied(p)
}

// factors are the axes of the operands and of the result of a matmul. linear: the second operand is a weight of shape
// [N, K]. turn: the operands are permuted inputs.
type factors struct {
	first, second, out []domain.Axis
	linear, turn       bool
}

// batched chooses the matrices of a matmul whose operands have these batches. The result has the longer list of
// batches.
func (g *generator) batched(first, second []int64) factors {
	m, k, n := pick[int64](g, 2, 3, 4), g.extent(), g.extent()
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
	return lists.Map(slices.Concat(batch, matrix), serialAxis)
}

// split returns the axes of a tensor that is split over ranks along its first axis.
func split(device domain.Axis, sizes ...int64) []domain.Axis {
	return append([]domain.Axis{device}, serialAxes(nil, sizes...)...)
}

// multiplied adds a matmul, its operands and a declared result.
func (g *generator) multiplied(p factors) {
	a, b := g.turned(p.first, p.turn), g.turned(p.second, p.turn)
	fn := "matmul"
	if p.linear {
		fn = "linear"
	}
	g.laidResult(on(fn, a, b), p.out, a)
}

// turned makes an input with these axes, or permutes an input with the axes in another order.
func (g *generator) turned(axes []domain.Axis, turn bool) *value {
	if !turn {
		return g.laid(axes, g.spec.World)
	}
	perm, lies := g.Perm(len(axes)), make([]domain.Axis, len(axes))
	for i, p := range perm {
		lies[p] = axes[i]
	}
	in := g.laid(lies, g.spec.World)
	return g.result(on("permute", in).with(permutation(perm)), axes, in)
}
