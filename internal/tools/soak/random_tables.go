package soak

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// splitTable begins with a gather of rows of a table whose rows are split over ranks. It adds the gathered rows to a
// sum over ranks, or subtracts them. It costs less to add the rows that each rank has to the rank's part of the sum
// than to gather the table. In half of the specs the table has batches, and each batch has its own ids.
func (g *generator) splitTable() {
	world := g.spec.World
	ranks := g.severalRanks()
	rows, columns, count := 1+g.Int64N(3), 1+g.Int64N(4), 1+g.Int64N(3)
	table := g.laid([]domain.Axis{ranks.device(), serialAxis(rows), serialAxis(columns)}, world)
	shape, ids, result, op := []int64{ranks.Size * rows, columns}, []int64{count}, []int64{count, columns}, on("gather")
	if g.chance(0.5) { // the columns are the batches
		table = g.result(on("permute", table).with(listed("perm", []int64{2, 0, 1})), serialAxes(nil, columns, ranks.Size, rows), table)
		shape = []int64{columns, ranks.Size * rows}
		ids, result, op = []int64{columns, count}, []int64{columns, count}, op.with(number("batches", 1))
	}
	table = g.reshaped(table, shape)
	by := g.inputOf(ids, pick(g, domain.Int32, domain.Int64), world)
	g.redeclare(by, serialAxes(nil, ids...))
	op.read(table, by)
	found := g.result(op, serialAxes(nil, result...), table)
	parts := g.laid(split(ranks.device(), result...), world)
	parts = g.result(on(pick(g, "exp", "relu"), parts), parts.axes, parts)
	sum := g.result(on("sum", parts).with(number("axis", 0)), found.axes, parts)
	v := g.result(on(pick(g, "add", "sub"), sum, found), found.axes, sum)
	g.result(on("neg", v), v.axes, v)
	g.known = slices.DeleteFunc(g.known, func(k *value) bool { return k == found || k == sum }) // another reader might need the whole tensor
	g.forget()
	g.field("", schedule.Preset, schedule.None)
}

// gathersParts reports whether each rank gathers the rows that it has of a table, although the spec does not number
// blocks of rows.
func gathersParts(m *model.Pipeline, p *hostir.Program) bool {
	numbered := slices.ContainsFunc(m.Ops, func(op *model.Op) bool { return op.Kind == model.OpGather && len(op.In) > 2 })
	return !numbered && hostir.Any(p.Body, func(s hostir.Stmt) bool {
		gather, ok := s.(*hostir.Gather)
		return ok && gather.First != nil
	})
}
