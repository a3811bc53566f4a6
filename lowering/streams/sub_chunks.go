package streams

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// A point-to-point pipeline has as many slices as ranks, but the best number of GEMMs depends on the problem. So a
// pipeline may split each slice into sub-chunks, with an inner loop over the sub-chunks that contains the whole
// iteration. Or one GEMM may compute several slices, with an inner loop over their transfers. A point-to-point sum and
// the gather of its result may also go through the sub-chunks one after the other, each of one slice or of several. The
// pass interchange-sub-chunks then swaps their loops.

// cut describes how the slices of a pipeline become GEMMs: each GEMM takes one sub-chunk of each of width slices.
type cut struct {
	subChunks int64  // number of sub-chunks in a slice; 1: slices are not split
	width     int64  // number of slices per GEMM
	subChunk  string // variable of the loop over the sub-chunks of a slice
	// bracket merges the loops over slices and over their sub-chunks into one loop, which begins and ends in
	// the middle of the local shard. The first sub-chunks hide receives, and the last ones hide sends.
	bracket bool
	inner   string // variable of the loop over the slices of a GEMM
}

// chunk returns the cut that the schedule selects for a pipeline. It reports an error if a block does not divide the
// number of slices.
func (l *streamLowering) chunk(g *group) cut {
	whole := cut{subChunks: 1, width: 1}
	if !g.exchanges() {
		return whole
	}
	count, split, block := g.axis.Size, l.loopNumber(g, schedule.Split), l.loopNumber(g, schedule.Block)
	switch {
	case l.bySubChunks(g):
		whole.subChunks, whole.subChunk = split, l.subChunk
		if !g.computes() {
			return whole // there is no GEMM to take several slices
		}
	case split > 1:
		return cut{subChunks: split, width: 1, subChunk: l.names.Fresh("c"), bracket: l.loopChoice(g, schedule.Steps) == schedule.Bracket}
	}
	switch {
	case block <= 1 || g.isRing():
	case count%block != 0:
		_ = hostir.Refuse(&l.errors, l.program, g.steps[0].stmt, l.chooser(g, schedule.Block), schedule.Block,
			"%d shards cannot be computed on %d at a time", count, block).WithHint("choose a block that divides %d", count)
	case block == count:
		whole.width, whole.inner = count, l.loop
	default:
		whole.width, whole.inner = block, l.names.Fresh("c")
	}
	return whole
}

// overSubChunks wraps statements in a loop over the sub-chunks of a slice.
func (c *slicer) overSubChunks(s hostir.Stmt, body ...hostir.Stmt) *hostir.For {
	return &hostir.For{Info: hostir.InfoFrom(s, ""), Var: c.cut.subChunk, Count: domain.Extent{Size: c.cut.subChunks}, Body: body}
}

// overSlices wraps statements in a loop over the slices of a GEMM.
func (c *slicer) overSlices(s hostir.Stmt, body ...hostir.Stmt) []hostir.Stmt {
	count := domain.Extent{Size: c.cut.width}
	if c.group.atOnce() {
		count = c.group.axis.Extent
	}
	return []hostir.Stmt{&hostir.For{Info: hostir.InfoFrom(s, ""), Var: c.cut.inner, Count: count, Body: body}}
}

// isLocal returns the condition for the local shard: the first or the last step or, with bracket, both. Steps count
// slices, even if an iteration takes several slices.
func (c *slicer) isLocal() expr.Expr {
	step, local := c.shards(), expr.Expr(expr.Int(0))
	if c.cut.bracket {
		return expr.Op("==", expr.Op("%", step, c.team.Extent), local)
	}
	switch c.cut.width {
	case 1:
	case c.team.Size:
		step = expr.Var(c.cut.inner)
	default:
		step = expr.Op("+", expr.Op("*", step, expr.Int(c.cut.width)), expr.Var(c.cut.inner))
	}
	if c.lowering.localLast(c.group) {
		local = c.team.Extent
	}
	return expr.Op("==", step, local)
}

// index returns the index of the slice of this iteration: s or, in exchanges between ranks, the coordinate of the rank
// at distance s. In a sum along a ring, it is the coordinate of the rank that is s + 1 before this one.
func (c *slicer) index() expr.Expr {
	switch {
	case c.team == nil:
		return expr.Var(c.lowering.loop)
	case len(c.parts) > 0 && c.group.isRing():
		return c.team.Before(ranks.Offset{Block: c.following()}) // the last step then has the slice of this rank
	case c.group.isRing():
		return c.team.Before(c.distance())
	default:
		return c.team.After(c.distance())
	}
}

// distance returns the distance to the rank whose slice this iteration takes.
func (c *slicer) distance() ranks.Offset {
	d := ranks.Offset{Block: c.shards()}
	if c.cut.width > 1 {
		d.Inner, d.Width = expr.Var(c.cut.inner), c.cut.width
	}
	return d
}

// shards returns the index of the current slice, or block of slices. If each iteration takes one sub-chunk, it is the
// number of the iteration divided by the number of sub-chunks in a slice.
func (c *slicer) shards() expr.Expr {
	if c.cut.bracket {
		return ranks.Blocks(expr.Var(c.lowering.loop), c.cut.subChunks)
	}
	return expr.Var(c.lowering.loop)
}

// subChunkIndex returns the index, in its slice, of the sub-chunk that this iteration takes.
func (c *slicer) subChunkIndex() expr.Expr {
	if c.cut.bracket {
		return expr.Op("%", expr.Var(c.lowering.loop), expr.Int(c.cut.subChunks))
	}
	return expr.Var(c.cut.subChunk)
}

// together returns the index of the block of slices that a GEMM of this iteration computes.
func (c *slicer) together() expr.Expr {
	return c.team.BlockAt(c.distance(), false)
}

// pick makes a view of the slice of t at an index along axis. If slices are split and cutAxis is not shard.NoAxis, it
// is a view of the current sub-chunk of the slice along cutAxis. pick redefines view, or declares a new view if view is
// nil.
func (c *slicer) pick(s hostir.Stmt, view, t *hostir.Tensor, axis int, index expr.Expr, cutAxis int) *hostir.Tensor {
	if c.cut.subChunks == 1 || cutAxis == shard.NoAxis {
		return c.selected(s, view, t, axis, index)
	}
	whole := c.selected(s, nil, t, axis, index)
	if cutAxis > axis {
		cutAxis--
	}
	return c.subChunk(s, view, whole, cutAxis)
}

// selected makes a view of t at an index along an axis. It redefines view, or declares a new view if view is nil.
func (c *slicer) selected(s hostir.Stmt, view, t *hostir.Tensor, axis int, index expr.Expr) *hostir.Tensor {
	if view == nil {
		view = c.without(t, axis)
	}
	view.Of = &hostir.Select{Info: hostir.InfoFrom(s, ""), Out: view, In: t, Axis: axis, Index: index}
	return view
}

// subChunk makes a view of the current sub-chunk of t along an axis. It redefines view, or declares a new view if view
// is nil.
func (c *slicer) subChunk(s hostir.Stmt, view, t *hostir.Tensor, cutAxis int) *hostir.Tensor {
	if t.Axes[cutAxis].LocalSize()%c.cut.subChunks != 0 {
		c.uneven(s, t, cutAxis)
	}
	if view == nil {
		view = c.partOf(t, c.cut.subChunk, cutAxis, c.cut.subChunks)
	}
	view.Of = &hostir.Select{Info: hostir.InfoFrom(s, ""), Out: view, In: t, Axis: cutAxis, Index: c.subChunkIndex(), Parts: c.cut.subChunks}
	return view
}

// block makes a view of the slices of t along an axis that a GEMM of this iteration computes. If slices are split, it
// is a view of the current sub-chunk of each of them.
func (c *slicer) block(s hostir.Stmt, t *hostir.Tensor, axis, cutAxis int) *hostir.Tensor {
	view := t
	if !c.group.atOnce() {
		parts := c.group.axis.Size / c.cut.width
		view = c.partOf(t, c.lowering.loop, axis, parts)
		view.Of = &hostir.Select{Info: hostir.InfoFrom(s, ""), Out: view, In: t, Axis: axis, Index: c.together(), Parts: parts}
	}
	if cutAxis == shard.NoAxis {
		return view
	}
	return c.subChunk(s, nil, view, cutAxis)
}

// viewUnless makes view an Either: its present definition if cond is not zero, and otherwise the definition that pick
// gives it.
func (c *slicer) viewUnless(s hostir.Stmt, note string, view *hostir.Tensor, cond expr.Expr, pick func(view *hostir.Tensor)) {
	other := *view
	pick(&other)
	hostir.ViewUnless(view, hostir.InfoFrom(s, note), cond, other.Of)
}

// partOf declares a view of one of several equal parts of t along an axis. The caller defines which part.
func (c *slicer) partOf(t *hostir.Tensor, loop string, axis int, parts int64) *hostir.Tensor {
	view := c.declare(t, loop, t.Axes, t.Layout)
	view.Axes[axis] = domain.Axis{Extent: oneOf(t.Axes[axis].Extent, parts)}
	return view
}

// uneven reports an axis that sub-chunks do not divide evenly, once for each extent.
func (c *slicer) uneven(s hostir.Stmt, t *hostir.Tensor, axis int) {
	l, extent := c.lowering, t.Axes[axis].Extent
	if l.uncut[extent] {
		return
	}
	l.uncut[extent] = true
	elements := strconv.FormatInt(extent.Size, 10)
	if extent.Text != "" {
		elements = extent.Text + " = " + elements
	}
	d := hostir.Refuse(&l.errors, l.program, s, l.chooser(c.group, schedule.Split), schedule.Split,
		"%s elements along an axis of %s cannot be cut into %d equal sub-chunks",
		elements, hostir.Called(l.program, s, t), c.cut.subChunks)
	hostir.NoteDeclared(d, l.program, s, t).WithHint("choose another split")
}

// oneRun reports the first operand or result of a communication that is a sub-chunk and not contiguous in memory.
func (c *slicer) oneRun(s hostir.Stmt, tensors []*hostir.Tensor) {
	for _, view := range tensors {
		cut, ok := view.Of.(*hostir.Select)
		if !ok || cut.Parts == 0 || hostir.Outside(cut.In, cut.Axis) < 0 {
			continue
		}
		l, t, axis, outer := c.lowering, cut.In, cut.Axis, hostir.Outside(cut.In, cut.Axis)
		d := hostir.Refuse(&l.errors, l.program, s, l.chooser(c.group, schedule.Split), schedule.Split,
			"%s moves between ranks in sub-chunks along axis %d (%s), and axis %d (%s) lies outside of it",
			hostir.Called(l.program, s, t), axis, t.Axes[axis], outer, t.Axes[outer])
		hostir.NoteDeclared(d, l.program, s, t).WithHint("leave out split")
		return
	}
}

// ofAllRanks reports a gather along the axis that is split into sub-chunks. Each sub-chunk would come from only some of
// the ranks.
func (c *slicer) ofAllRanks(s hostir.Stmt, t *hostir.Tensor, axis int) {
	l := c.lowering
	d := hostir.Refuse(&l.errors, l.program, s, l.chooser(c.group, schedule.Split), schedule.Split,
		"%s is gathered along axis %d (%s), of which each sub-chunk would come from some ranks alone", hostir.Called(l.program, s, t), axis,
		t.Axes[axis])
	hostir.NoteDeclared(d, l.program, s, t).WithHint("leave out split")
}

// oneOf returns the extent of one of several equal parts of an extent.
func oneOf(e domain.Extent, parts int64) domain.Extent {
	return domain.Extent{Text: expr.Compact(expr.Op("/", e.Expr(), expr.Int(parts))), Size: e.Size / parts}
}

// cutAxis returns the axis along which the slices of a tensor are split. If this pipeline computes the tensor, it is
// the axis along which its sub-chunks are computed. Otherwise it is the outermost axis in memory of which a rank has
// more than one element, apart from the axes in whole, which include the axis of the pipeline. It is shard.NoAxis if
// there is no such axis, or if slices are not split.
func (c *slicer) cutAxis(t *hostir.Tensor, whole ...int) int {
	if c.cut.subChunks == 1 {
		return shard.NoAxis
	}
	if axis, known := c.along[t]; known {
		return axis
	}
	c.along[t] = shard.NoAxis
	for _, axis := range hostir.Layout(t) {
		if !slices.Contains(whole, axis) && t.Axes[axis].LocalSize() > 1 {
			c.along[t] = axis
			break
		}
	}
	return c.along[t]
}

// wholeAxes lists the axes of a statement's result that sub-chunks may not split. They are the axis of the pipeline,
// the axis of a concat or slice, the columns of a kernel that needs whole rows, and axes that a reshape merges or
// splits.
func wholeAxes(s hostir.Stmt, loop int) []int {
	switch s := s.(type) {
	case *hostir.Concat:
		return []int{loop, s.Axis}
	case *hostir.Slice:
		return []int{loop, hostir.Ranges(s)[0].OutAxis}
	case *hostir.Fused:
		return []int{loop, s.WholeAxis()}
	case *hostir.Reshape:
		whole := []int{loop}
		for axis := range s.Out.Axes {
			if !slices.Contains(hostir.AxisMap(s)[0], axis) {
				whole = append(whole, axis)
			}
		}
		return whole
	default:
		return []int{loop}
	}
}

// oneElement reports a step that exchanges shards of one element, which cannot be split into sub-chunks.
func (c *slicer) oneElement(st step) {
	s, t, loop := st.stmt, hostir.Result(st.stmt), st.loop
	switch st.kind {
	case fromRankAtDistance, gatherAlongRing:
	case toRankAtDistance, sumAlongRing:
		t, loop = st.operand()
	default:
		return
	}
	if c.cut.subChunks == 1 || c.cutAxis(t, loop) != shard.NoAxis {
		return
	}
	l := c.lowering
	hostir.Refuse(&l.errors, l.program, s, l.chooser(c.group, schedule.Split), schedule.Split,
		"a shard of %s has one element, which cannot be cut into %d", hostir.Called(l.program, s, hostir.Result(s)), c.cut.subChunks).
		WithHint("leave out split")
}

// follow chooses the axis along which the results of a statement are split, and returns it. A sub-chunk of the results
// then needs only the current sub-chunks of the operands. follow reports an error if the statement would need other
// sub-chunks of its operands, which are not computed yet. It also reports one if a sum needs the results in other
// sub-chunks than the statement can compute.
func (c *slicer) follow(s hostir.Stmt, whole []int) int {
	out, axes := hostir.Result(s), hostir.AxisMap(s)
	for i, t := range hostir.Uses(s) {
		along, made := c.along[t]
		if !made || along == shard.NoAxis || c.cut.subChunks == 1 {
			continue
		}
		axis := axes[i][along]
		if other, known := c.along[out]; axis == shard.NoAxis || slices.Contains(whole, axis) || known && other != axis {
			c.needsAll(s, t, along)
			continue
		}
		c.along[out] = axis
	}
	cut := c.cutAxis(out, whole...)
	if cut != shard.NoAxis && slices.Contains(whole, cut) {
		c.makesAll(s, out, cut)
	}
	for _, t := range hostir.Defs(s) {
		c.along[t] = cut
	}
	return cut
}

// makesAll reports a statement that computes all sub-chunks of its result in one step, although a sum sends them one by
// one.
func (c *slicer) makesAll(s hostir.Stmt, t *hostir.Tensor, along int) {
	p := c.lowering.program
	d := hostir.Refuse(&c.lowering.errors, p, s, c.lowering.chooser(c.group, schedule.Split), schedule.Split,
		"%s is sent sub-chunk by sub-chunk along axis %d (%s), and this makes all sub-chunks of it at once", hostir.Called(p, s, t), along,
		t.Axes[along])
	hostir.NoteDeclared(d, p, s, t).WithHint("leave out split")
}

// needsAll reports a statement that needs all sub-chunks of an operand in one step.
func (c *slicer) needsAll(s hostir.Stmt, t *hostir.Tensor, along int) {
	p := c.lowering.program
	d := hostir.Refuse(&c.lowering.errors, p, s, c.lowering.chooser(c.group, schedule.Split), schedule.Split,
		"%s is made sub-chunk by sub-chunk along axis %d (%s), and this needs all sub-chunks of it at once", hostir.Called(p, s, t), along,
		t.Axes[along])
	for _, op := range p.Reference {
		if op.Out == hostir.Called(p, s, t) {
			d = d.AddNote(op.Pos, "the edge (data) comes from %s of %s, here", op.Kind, op.Out)
		}
	}
	hostir.NoteDeclared(d, p, s, t).WithHint("leave out split")
}
