package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// In a ring, every rank sends only to the next rank, and receives only from the previous rank. It passes on slices that
// it has received, or received sums to which it has added its own part. So steps run in order, on the caller's stream.

// passOn appends one step of an allgather along a ring. While the GEMM of the current slice runs, the slice is sent to
// the next rank, and the next slice comes from the previous rank. The waits directly follow the transfers; the pass
// overlap later moves them to where they are needed.
//
//	before: A_all = Set(A)                      A [DIDx(D), m, K], A_all [Stream(D), m, K]
//
//	after:  If s == 0: A_s = Select(A, axis 0, index 0) Else: A_s = Select(A_all, axis 0, index (D + rank - s) % D)
//	        If s != D - 1: (send A_s to the next rank, receive slice (D + rank - (s + 1)) % D, wait for both)
func (c *slicer) passOn(st step) {
	set, out := st.stmt, hostir.Result(st.stmt)
	in, i := st.operand()
	cutAxis, along := c.cutBoth(st)
	sent, first, note := c.pick(set, nil, in, i, expr.Int(0), along), c.stepIs("==", expr.Int(0)), "step 0 is the local shard"
	if c.usesInPlace(out, sent, st.loop) && c.via(set) != schedule.IPCGet {
		c.viewUnless(set, note, sent, first, func(view *hostir.Tensor) { c.pick(set, view, out, st.loop, c.index(), cutAxis) })
	} else {
		// With IPC-get a rank shares one buffer with its peers, so the local shard has to be in this buffer.
		slice := c.pick(set, nil, out, st.loop, c.index(), cutAxis)
		c.body = append(c.body, &hostir.If{
			Info: hostir.InfoFrom(set, note), Cond: first, Body: []hostir.Stmt{&hostir.Set{Info: hostir.InfoFrom(set, ""), Out: slice, In: sent}},
		})
		sent = slice
	}
	c.slices[sliceKey{out, st.loop, cutAxis}] = sent
	next := c.pick(set, nil, out, st.loop, c.team.Before(ranks.Offset{Block: c.following()}), cutAxis)
	c.body = append(c.body, &hostir.If{
		Info: hostir.InfoFrom(set, "the last shard goes no further"), Cond: c.stepIs("!=", c.lastStep()), Body: c.toNext(set, sent, next),
	})
}

// stepIs returns the comparison of the step with a number.
func (c *slicer) stepIs(op string, with expr.Expr) expr.Expr {
	return expr.Op(op, expr.Var(c.lowering.loop), with)
}

// following returns the number of the next step as an expression.
func (c *slicer) following() expr.Expr { return expr.Op("+", expr.Var(c.lowering.loop), expr.Int(1)) }

// lastStep returns the number of the last step as an expression.
func (c *slicer) lastStep() expr.Expr { return expr.Op("-", c.team.Extent, expr.Int(1)) }

// toNext returns statements that send to the next rank of the ring and receive from the previous one.
func (c *slicer) toNext(s hostir.Stmt, from, into *hostir.Tensor) []hostir.Stmt {
	one := ranks.Offset{Block: expr.Int(1)}
	return c.exchange(s, from, into, c.team.After(one), c.team.Before(one))
}

// declareSums declares and allocates the buffer for the sums that a rank receives along a ring.
func (c *slicer) declareSums(st step) {
	r, l := st.stmt, c.lowering
	in, i := st.operand()
	parts := l.names.Declare(in, "_sums")
	parts.Axes[i].Kind = domain.Serial
	l.emit(&hostir.Allocate{Info: hostir.InfoFrom(r, ""), Tensor: parts})
	c.parts[r] = parts
}

// collectSums appends the beginning of a step of a reduce-scatter along a ring. While the GEMM of the step runs, the
// sum of the previous step is sent to the next rank, and the sum for this step comes from the previous rank. If GEMMs
// accumulate the sums, makeSums prepares the step instead.
func (c *slicer) collectSums(st step) {
	if c.lowering.accumulates(st.stmt) {
		c.makeSums(st)
		return
	}
	c.declareSums(st)
	c.makeLastInPlace(st)
	r := st.stmt
	in, i := st.operand()
	cutAxis := c.cutAxis(in, i)
	before := c.team.Before(c.distance())
	sent, sum := c.pick(r, nil, in, i, before, cutAxis), c.pick(r, nil, c.parts[r], i, c.index(), cutAxis)
	c.body = append(c.body, &hostir.If{
		Info: hostir.InfoFrom(r, "step 0 has no sum to add to yet"), Cond: c.stepIs("!=", expr.Int(0)), Body: c.toNext(r, sent, sum),
	})
}

// passSumOn appends the end of a step of a reduce-scatter along a ring: it adds the received sum to the part that the
// rank has computed. The sum of the last step is the local one. Intermediate sums have the element type of the parts.
//
//	before: C = Reduce(sum, P, axis 0)          P [DIDx(D), Stream(D), m, N], C [r(D), DIDx(D), m, N]
//
//	after:  (P_s is for rank - (s + 1); in the last step it is C. If madeInPlace does not allow that, P_s is
//	        copied to C after the loop)
//	        If s != 0: P_s = Binary(add, P_s, P_sums_s)
func (c *slicer) passSumOn(st step) {
	if c.lowering.accumulates(st.stmt) {
		c.passSumOnAtOnce(st)
		return
	}
	r := st.stmt
	in, i := st.operand()
	cutAxis := c.cutAxis(in, i)
	computed := c.slice(r, in, i, cutAxis)
	c.body = append(c.body, &hostir.If{
		Info: hostir.InfoFrom(r, "what the ranks before have summed"), Cond: c.stepIs("!=", expr.Int(0)),
		Body: []hostir.Stmt{&hostir.Binary{
			Info: *r.Meta(), Fn: domain.FoldOf(shard.Describe(r).Reduce).Fn, Out: computed, A: computed,
			B: c.pick(r, nil, c.parts[r], i, c.index(), cutAxis),
		}},
	})
	c.copyOut(st)
}

// copyOut appends, after the loop, a copy of the local sum to the result, unless the sum is computed there.
func (c *slicer) copyOut(st step) {
	if c.madeInPlace(st) {
		return
	}
	r, part := st.stmt, c.partAxis(st)
	in, i := st.operand()
	if part > i {
		part--
	}
	local := c.selected(r, nil, in, i, c.team.Coordinate)
	alone := c.selected(r, nil, local, part, expr.Int(0)) // without the axis of the ranks
	result := c.selected(r, nil, hostir.Result(r), st.loop, expr.Int(0))
	c.after = append(c.after, &hostir.Set{Info: hostir.InfoFrom(r, "the local sum"), Out: result, In: alone})
}

// complainOfSums reports that a ring would overwrite the parts of a sum, although another statement or the caller needs
// them. It returns an unpipelined step.
func (l *streamLowering) complainOfSums(r *hostir.Reduce) step {
	d := hostir.Refuse(&l.errors, l.program, r, l.moves[r], schedule.Steps,
		"the sums of a ring take the place of %s, which is needed as it is", hostir.Called(l.program, r, r.In))
	for _, s := range l.program.Body {
		if s != hostir.Stmt(r) && slices.Contains(hostir.Uses(s), r.In) {
			d = hostir.NoteEdge(d, l.program, "reuse", s)
		}
	}
	hostir.NoteDeclared(d, l.program, r, r.In).
		WithHint("choose steps: rotation, which leaves it as it is")
	return step{stmt: r, kind: unpipelined, loop: shard.NoAxis}
}
