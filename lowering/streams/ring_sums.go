package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// With fuse: gemm, GEMMs accumulate the sums along a ring (beta = 1). A GEMM then needs the received sum, so only the
// GEMM of another sub-chunk can hide its transfer. So a rank sends a sum as soon as it is computed, and waits for a sum
// just before the GEMM that adds to it. The transfers in step s bring the sums for step s + 1. The last sum is computed
// directly in the result if madeInPlace allows that.

// accumulates reports whether the schedule requests that GEMMs accumulate a sum.
func (l *streamLowering) accumulates(r hostir.Stmt) bool {
	return l.choice(r, schedule.Fuse) == schedule.GEMM
}

// makeSums prepares a step whose sums are accumulated in GEMMs.
func (c *slicer) makeSums(st step) {
	if c.team.Size > 1 {
		c.declareSums(st)
	}
	c.makeLastInPlace(st)
}

// makeLastInPlace lets the GEMM of the last step write directly to the result, if madeInPlace allows that. In other
// steps, the GEMM writes to the buffer that is sent.
func (c *slicer) makeLastInPlace(st step) {
	if !c.madeInPlace(st) {
		return
	}
	r := st.stmt
	in, i := st.operand()
	cutAxis := c.cutAxis(in, i)
	sum := c.pick(r, nil, in, i, c.index(), cutAxis)
	other := sum.Of
	c.localSum(r, sum, i, cutAxis)
	hostir.ViewUnless(sum, hostir.InfoFrom(r, "the last sum is the local one: the result"), c.stepIs("==", c.lastStep()), other)
	c.slices[sliceKey{in, i, cutAxis}] = sum
}

// madeInPlace reports whether the local sum can be computed directly in the result. This pipeline has to compute the
// parts, and the result needs the element type, axes and layout of a slice of the parts. A single element is copied
// instead.
func (c *slicer) madeInPlace(st step) bool {
	in, i := st.operand()
	out := hostir.Result(st.stmt)
	slice, order := lists.Without(in.Axes, i), hostir.DropAxis(hostir.Layout(in), i)
	axes, places := slices.Clone(out.Axes), hostir.Layout(out)
	for a := firstReduced(axes); a >= 0; a = firstReduced(axes) {
		axes, places = slices.Delete(axes, a, a+1), hostir.DropAxis(places, a)
	}
	serial := func(a domain.Axis) bool { return a.Kind == domain.Serial }
	return c.group.makes[in] && in.Role == hostir.Temp && in.DType == out.DType && slices.Equal(order, places) &&
		slices.ContainsFunc(axes, serial) &&
		slices.EqualFunc(slice, axes, func(a, b domain.Axis) bool {
			return a.Alike(b) && a.Size == b.Size
		})
}

func firstReduced(axes []domain.Axis) int {
	return slices.IndexFunc(axes, func(a domain.Axis) bool { return a.Kind == domain.Reduction })
}

// localSum makes view refer to the result, or to the current sub-chunk of the result. Without its reduced axes, the
// result has the axes of a slice of the operand along axis i.
func (c *slicer) localSum(r hostir.Stmt, view *hostir.Tensor, i, cutAxis int) {
	t := hostir.Result(r)
	for a := firstReduced(t.Axes); a >= 0; a = firstReduced(t.Axes) {
		var alone *hostir.Tensor
		if cutAxis == shard.NoAxis && firstReduced(lists.Without(t.Axes, a)) < 0 {
			alone = view
		}
		t = c.selected(r, alone, t, a, expr.Int(0))
	}
	switch {
	case cutAxis > i:
		c.subChunk(r, view, t, cutAxis-1)
	case cutAxis != shard.NoAxis:
		c.subChunk(r, view, t, cutAxis)
	case t != view:
		whole := slices.IndexFunc(t.Axes, func(a domain.Axis) bool { return a.Kind == domain.Serial }) // madeInPlace checked that there is one
		view.Of = &hostir.Select{Info: hostir.InfoFrom(r, ""), Out: view, In: t, Axis: whole, Index: expr.Int(0), Parts: 1}
	}
}

// passSumOnAtOnce appends the end of a step of a reduce-scatter along a ring whose sums are accumulated in GEMMs. It
// adds the received sum to the computed part, and sends the result on. The waits directly follow the transfers; the
// pass overlap later moves them to where they are needed.
//
//	before: C = Reduce(sum, P, axis 0)          P [DIDx(D), Stream(D), m, N], C [r(D), DIDx(D), m, N]
//
//	after:  If s == D - 1: P_s = Select(C, axis 0, index 0) Else: P_s = Select(P, axis 1, index (D + rank - (s + 1)) % D)
//	        ... P_s is computed, then
//	        If s != 0: P_s = Binary(add, P_s, P_sums_s), with the sum that step s - 1 received
//	        If s != D - 1: (send P_s to the next rank, receive the sum for the next step)
func (c *slicer) passSumOnAtOnce(st step) {
	r := st.stmt
	in, i := st.operand()
	cutAxis := c.cutAxis(in, i)
	computed := c.slice(r, in, i, cutAxis)
	if c.team.Size > 1 {
		c.body = append(c.body, c.addReceived(r, computed, i, cutAxis)...)
	}
	c.copyOut(st)
}

// addReceived returns the addition of the sum that arrived in the previous step, and the transfers for the next step.
func (c *slicer) addReceived(r hostir.Stmt, computed *hostir.Tensor, i, cutAxis int) []hostir.Stmt {
	step := expr.Expr(expr.Var(c.lowering.loop))
	before := expr.Op("-", expr.Op("+", c.team.Extent, step), expr.Int(1)) // s - 1, made valid in step 0 by adding the number of steps
	received := c.pick(r, nil, c.parts[r], i, expr.Op("%", before, c.team.Extent), cutAxis)
	sent, into := c.pick(r, nil, hostir.Uses(r)[0], i, c.index(), cutAxis), c.pick(r, nil, c.parts[r], i, step, cutAxis)
	add := &hostir.Binary{
		Info: *r.Meta(), Fn: domain.FoldOf(shard.Describe(r).Reduce).Fn, Out: computed, A: computed, B: received,
	}
	return []hostir.Stmt{
		&hostir.If{Info: hostir.InfoFrom(r, "what the ranks before have summed"), Cond: c.stepIs("!=", expr.Int(0)), Body: []hostir.Stmt{add}},
		&hostir.If{
			Info: hostir.InfoFrom(r, "the next rank adds to it in its next step"), Cond: c.stepIs("!=", c.lastStep()),
			Body: c.toNext(r, sent, into),
		},
	}
}
