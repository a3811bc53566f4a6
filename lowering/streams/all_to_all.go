package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/schedule"
)

// passToEach appends one step of an all-to-all from rank to rank. Each rank sends another part of its operand to each rank.
//
//	before: B = Set(A)                          A [DIDx(D), D, m], B [Stream(D), DIDx(D), m]
//
//	after:  B_s = Select(B, axis 0, index (rank + s) % D).
//	        If s == 0: A_s = Select(A, axis 1, index rank); B_s = Set(A_s).
//	        Else: A_s = Select(A, axis 1, index (D + rank - s) % D); (send A_s, receive B_s).
func (c *slicer) passToEach(st step) {
	set, shift := st.stmt, shard.Describe(st.stmt).Shifts[0]
	in, out := hostir.Uses(set)[0], hostir.Result(set)
	to := slices.Index(hostir.AxisMap(set)[0], shift.To)
	received := c.withoutRanks(set, c.selected(set, nil, out, st.loop, c.index()), shift.To, st.loop)
	part := func(of expr.Expr) *hostir.Tensor {
		return c.withoutRanks(set, c.selected(set, nil, in, to, of), shift.From, to)
	}
	split := c.localStep(set)
	split.Body = []hostir.Stmt{&hostir.Set{Info: *set.Meta(), Out: received, In: part(c.team.Coordinate)}}
	split.Else = c.receive(set, part(c.team.Before(c.distance())), received)
	exchange := []hostir.Stmt{split}
	if c.cut.width > 1 {
		exchange = c.overSlices(set, exchange...)
	}
	c.body = append(c.body, exchange...)
}

// withoutRanks returns a view of t without the axis that ranks split. A slice along another axis was already taken, so t lacks that
// axis. ranks and lacks are the numbers that the two axes had before.
func (c *slicer) withoutRanks(s hostir.Stmt, t *hostir.Tensor, ranks, lacks int) *hostir.Tensor {
	if ranks > lacks {
		ranks--
	}
	return c.selected(s, nil, t, ranks, expr.Int(0))
}

// sendsToEach reports whether a Set that turns a split axis into a Stream axis is an all-to-all from rank to rank. Then another axis
// is split in the result, and the schedule has pipeline: p2p.
func (l *streamLowering) sendsToEach(s hostir.Stmt) bool {
	m := shard.Describe(s)
	return l.program.Choices.Get(schedule.Pipeline) == schedule.P2P && len(m.Shifts) == 1 && m.Shifts[0].From != shard.NoAxis &&
		m.Shifts[0].To != shard.NoAxis
}
