package soak

import (
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// summedBatches begins with a GEMM whose rows are two axes and whose result is summed over ranks. The ranks can seldom share the first
// axis. Operations along rows read the sum, and operations that need both axes.
func (g *generator) summedBatches() {
	ranks := g.severalRanks()
	device := ranks.device()
	many := ranks.Size
	rows := []int64{pick(g, 2, many+1, many+1, many+1), pick(g, 3, many, many, many, 2*many), pick[int64](g, 3, 4)}
	if g.chance(0.1) {
		rows = append([]int64{2}, rows...)
	}
	a := g.laid(split(device, rows...), g.spec.World)
	n := pick[int64](g, 2, 3, 4)
	weights := []int64{n, rows[len(rows)-1]}
	for range len(rows) - 2 { // axes of one element, which stretch along all rows but the last axis
		weights = append([]int64{1}, weights...)
	}
	w := g.laid(split(device, weights...), g.spec.World)
	made := append([]domain.Axis{device}, serialAxes(nil, append(rows[:len(rows)-1:len(rows)-1], n)...)...)
	p := g.result(on("linear", a, w), made, a)
	sum := g.result(g.along("sum", 0, p), made[1:], p)
	if g.chance(0.5) {
		bias := g.laid(serialAxes(nil, n), g.spec.World)
		sum = g.result(on("add", sum, bias), sum.axes, sum)
	}
	g.focused(sum, 2+g.IntN(3), (*generator).composite, (*generator).binary, (*generator).unary, (*generator).reduce, (*generator).cast,
		(*generator).slice, (*generator).concat, (*generator).permute, (*generator).reshape, (*generator).broadcast, (*generator).linear)
	g.field("", schedule.Pipeline, schedule.P2P)
}

// mergesRows reports whether a program has two axes of rows as one.
func mergesRows(_ *model.Pipeline, p *hostir.Program) bool {
	for _, t := range p.Tensors {
		if strings.Contains(t.Name, "_merged") {
			return true
		}
	}
	return false
}
