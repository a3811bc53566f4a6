package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Where sums along a ring are accumulated in GEMMs (fuse: gemm, beta = 1), a GEMM needs the sum that
// came in, and the GEMM of another sub-chunk is what hides its transfer. So a rank sends a sum as
// soon as it is made, and waits for one just before it adds to it: the transfers of step s bring
// what step s + 1 adds to. The last sum is made where the result is.

// accumulates reports whether the schedule asks for a sum that GEMMs make.
func (l *streamLowering) accumulates(r hostir.Stmt) bool {
	return l.choice(r, schedule.Fuse) == schedule.GEMM
}

// makeSums begins a step of sums that GEMMs make.
func (c *slicer) makeSums(st step) {
	if c.team.Size > 1 {
		c.declareSums(st)
	}
	c.makeLastInPlace(st)
}

// makeLastInPlace lets the GEMM of a step be made where it is sent from or, in the last step, where the result is.
func (c *slicer) makeLastInPlace(st step) {
	r := st.stmt
	in, out := hostir.Uses(r)[0], hostir.Result(r)
	if !c.madeInPlace(in, out, st) {
		return
	}
	i := slices.Index(hostir.AxisMap(r)[0], st.loop)
	cutAxis := c.cutAxis(in, i)
	sum := c.pick(r, nil, in, i, c.index(), cutAxis)
	other := sum.Of
	c.localSum(r, sum, i, cutAxis)
	hostir.ViewUnless(sum, hostir.InfoFrom(r, "the last sum is the local one: the result"), c.stepIs("==", c.lastStep()), other)
	c.slices[sliceKey{in, i, cutAxis}] = sum
}

// madeInPlace reports whether the local sum can be made where the result is: this pipeline makes the
// parts, and it lies there as a slice of them does. A single element is as well copied.
func (c *slicer) madeInPlace(in, out *hostir.Tensor, st step) bool {
	i := slices.Index(hostir.AxisMap(st.stmt)[0], st.loop)
	slice, order := slices.Delete(slices.Clone(in.Axes), i, i+1), hostir.DropAxis(hostir.Layout(in), i)
	axes, places := slices.Clone(out.Axes), hostir.Layout(out)
	for a := firstReduced(axes); a >= 0; a = firstReduced(axes) {
		axes, places = slices.Delete(axes, a, a+1), hostir.DropAxis(places, a)
	}
	serial := func(a domain.Axis) bool { return a.Kind == domain.Serial }
	return c.group.makes[in] && in.Role == hostir.Temp && in.DType == out.DType && slices.Equal(order, places) && slices.ContainsFunc(axes, serial) &&
		slices.EqualFunc(slice, axes, func(a, b domain.Axis) bool {
			return a.Kind == b.Kind && a.Mesh == b.Mesh && a.Extent.Size == b.Extent.Size
		})
}

func firstReduced(axes []domain.Axis) int {
	return slices.IndexFunc(axes, func(a domain.Axis) bool { return a.Kind == domain.Reduction })
}

// localSum makes view name the result, or the sub-chunk of it at hand. Without its reduced axes it
// has the axes of a slice along axis i of the operand.
func (c *slicer) localSum(r hostir.Stmt, view *hostir.Tensor, i, cutAxis int) {
	t := hostir.Result(r)
	for a := firstReduced(t.Axes); a >= 0; a = firstReduced(t.Axes) {
		var alone *hostir.Tensor
		if cutAxis == shard.NoAxis && firstReduced(slices.Delete(slices.Clone(t.Axes), a, a+1)) < 0 {
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
		whole := slices.IndexFunc(t.Axes, func(a domain.Axis) bool { return a.Kind == domain.Serial }) // there is one: madeInPlace
		view.Of = &hostir.Select{Info: hostir.InfoFrom(r, ""), Out: view, In: t, Axis: whole, Index: expr.Int(0), Parts: 1}
	}
}

// passSumOnAtOnce appends the end of a step of a reduce-scatter along a ring whose sums are
// accumulated in GEMMs: the sum that came in is added to what the rank computed, and goes on.
//
//	before: C = Reduce(sum, P, axis 0)          P [DIDx(D), Stream(D), m, N], C [r(D), DIDx(D), m, N]
//	after:  If s == D - 1: P_s = Select(C, axis 0, index 0) Else: P_s = Select(P, axis 1, index (D + rank - (s + 1)) % D)
//	        ... P_s is computed, then
//	        If s != 0: Wait(receive, iteration s - 1); P_s = Binary(add, P_s, P_sums_s), with what step s - 1 received
//	        If s != D - 1: (send P_s to the next rank, receive what the next step adds to)
//	        and after the loop: the waits for what was sent
func (c *slicer) passSumOnAtOnce(st step) {
	r := st.stmt
	in, out := hostir.Uses(r)[0], hostir.Result(r)
	i := slices.Index(hostir.AxisMap(r)[0], st.loop)
	cutAxis := c.cutAxis(in, i)
	computed := c.slice(r, in, i, cutAxis)
	if c.team.Size > 1 {
		c.body = append(c.body, c.addReceived(r, computed, i, cutAxis)...)
	}
	if !c.madeInPlace(in, out, st) {
		c.copyOut(st, in, out, i)
	}
}

// addReceived is the addition of what the step before received, and the transfers for the next
// step. The waits for what was sent follow the loop.
func (c *slicer) addReceived(r hostir.Stmt, computed *hostir.Tensor, i, cutAxis int) []hostir.Stmt {
	step := expr.Expr(expr.Var(c.lowering.loop))
	before := expr.Op("-", expr.Op("+", c.team.Extent, step), expr.Int(1)) // modulo the steps, so that it is one in step 0, too
	received := c.pick(r, nil, c.parts[r], i, expr.Op("%", before, c.team.Extent), cutAxis)
	sent, into := c.pick(r, nil, hostir.Uses(r)[0], i, c.index(), cutAxis), c.pick(r, nil, c.parts[r], i, step, cutAxis)
	add := &hostir.Binary{
		Info: *r.Meta(), Fn: addends[shard.Describe(r).Reduce], Out: computed, A: computed, B: received,
	}
	return []hostir.Stmt{
		&hostir.If{Info: hostir.InfoFrom(r, "what the ranks before have summed"), Cond: c.stepIs("!=", expr.Int(0)), Body: []hostir.Stmt{add}},
		&hostir.If{
			Info: hostir.InfoFrom(r, "the next rank adds to it in its next step"), Cond: c.stepIs("!=", c.lastStep()),
			Body: c.toNext(r, sent, into),
		},
	}
}
