package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/schedule"
)

// In step s, a point-to-point pipeline that is not a ring exchanges slices at distance s. In a gather with steps:
// rotation, a rank receives the slice of rank + s and sends its own slice to rank - s. Step 0 is the local shard; with
// local: last it is the last step, and with steps: bracket both are. In other steps, each rank sends and receives.

// rotate prepares the steps that exchange slices between ranks. It sets the team and the order of the team's ranks, and
// begins sums over ranks with collectParts or collectSums.
func (c *slicer) rotate(g *group) {
	for _, st := range g.steps {
		if !st.exchanges() {
			continue
		}
		in := hostir.Uses(st.stmt)[0]
		ring := ranks.Along(in.Mesh, shard.Describe(st.stmt).Shifts[0].Mesh)
		ring.Order = c.lowering.loopChoice(g, schedule.Steps)
		c.team = ring
		switch st.kind {
		case toRankAtDistance:
			c.collectParts(st)
		case sumAlongRing:
			c.collectSums(st)
		}
	}
}

// passFromRank appends one step of a gather from rank to rank. The local shard is used in place if usesInPlace allows
// that, and copied otherwise.
//
//	before: A_all = Set(A)                      A [DIDx(D), m, K], A_all [Stream(D), m, K]
//
//	after:  A_all_s = Select(A_all, axis 0, index (rank + s) % D)
//	        If s == 0: A_s = Select(A, axis 0, index 0); A_all_s = Set(A_s)
//	        Else: (send A, receive A_all_s)
func (c *slicer) passFromRank(st step) {
	set, out := st.stmt, hostir.Result(st.stmt)
	in, i := st.operand()
	cutAxis, along := c.cutBoth(st)
	local := c.pick(set, nil, in, i, expr.Int(0), along)
	if c.usesInPlace(out, local, st.loop) {
		c.inPlace(st, local)
		return
	}
	split, slice, sent := c.localStep(set), c.pick(set, nil, out, st.loop, c.index(), cutAxis), in
	if along != shard.NoAxis {
		sent = local
	}
	split.Body = []hostir.Stmt{&hostir.Set{Info: *set.Meta(), Out: slice, In: local}}
	split.Else = c.receive(set, sent, slice)
	exchange := []hostir.Stmt{split}
	if c.cut.width > 1 {
		exchange = c.overSlices(set, exchange...)
	}
	c.body = append(c.body, exchange...)
	if c.via(set) == schedule.NCCL && c.cut.width == 1 {
		c.slices[sliceKey{out, st.loop, cutAxis}] = slice // otherwise later statements use another view, of the slice or of a block
	}
}

// cutBoth returns the axes along which the slices of the result and of the operand of a movement are split; see cutAxis.
func (c *slicer) cutBoth(st step) (out, in int) {
	out, in = c.cutAxis(hostir.Result(st.stmt), st.loop), shard.NoAxis
	if out != shard.NoAxis {
		in = slices.Index(hostir.AxisMap(st.stmt)[0], out)
	}
	return out, in
}

// usesInPlace reports whether the local shard can be used without a copy, in place of a slice of t. The schedule may
// not request the copy, and GEMMs have to take single slices. t has to be a Temp that only this pipeline uses, and its
// slices need the layout of the local shard.
func (c *slicer) usesInPlace(t, local *hostir.Tensor, loop int) bool {
	return c.lowering.program.Choices.Get(schedule.LocalShard) != schedule.Copied && c.cut.width == 1 && t.Role == hostir.Temp &&
		c.group.last[t] <= c.group.number && slices.Equal(hostir.Layout(local), hostir.DropAxis(hostir.Layout(t), loop))
}

// inPlace appends a step in which one view refers to the local shard or to the received shard.
func (c *slicer) inPlace(st step, local *hostir.Tensor) {
	set, out, split := st.stmt, hostir.Result(st.stmt), c.localStep(st.stmt)
	sent, i := st.operand()
	cutAxis, along := c.cutBoth(st)
	received := c.pick(set, nil, out, st.loop, c.index(), cutAxis)
	if cutAxis != shard.NoAxis {
		sent = c.pick(set, nil, sent, i, expr.Int(0), along)
	}
	c.viewUnless(set, split.Note, local, split.Cond, func(view *hostir.Tensor) { c.pick(set, view, out, st.loop, c.index(), cutAxis) })
	split.Cond, split.Body = expr.Opposite(split.Cond), c.receive(set, sent, received)
	c.body = append(c.body, split)
	c.slices[sliceKey{out, st.loop, cutAxis}] = local // for the statements that follow
}

// localStep returns an If on the step of the local shard, without statements.
func (c *slicer) localStep(s hostir.Stmt) *hostir.If {
	note := "step 0 is the local shard, without a transfer"
	if c.lowering.localLast(c.group) {
		note = "the last step is the local shard, without a transfer"
	}
	return &hostir.If{Info: hostir.InfoFrom(s, note), Cond: c.isLocal()}
}

// receive returns statements that send this rank's slice to the rank s steps before it, and receive the slice of the
// rank s steps after it. Steps are in the team's order.
func (c *slicer) receive(s hostir.Stmt, from, into *hostir.Tensor) []hostir.Stmt {
	return c.exchange(s, from, into, c.team.Before(c.distance()), c.team.After(c.distance()))
}
