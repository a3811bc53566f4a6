package streams

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// The slices of a point-to-point pipeline are as many as ranks; how many GEMMs are best
// depends on the problem. So a pipeline may cut each slice into sub-chunks, with an inner loop
// around all that an iteration does, or compute on several slices at once, with an inner loop
// around their transfers. A sum from rank to rank, and what gathers it, may also take the sub-chunks
// one after the other, of one slice at a time or of several: interchange-sub-chunks then interchanges
// their loops.

// cut is how the slices of a pipeline become GEMMs: each of a sub-chunk of so many slices.
type cut struct {
	subChunks int64  // of each slice
	width     int64  // slices of each GEMM
	subChunk  string // variable of the loop over the sub-chunks of a slice
	// bracket makes one loop of that over slices and that over their sub-chunks, which begins in the
	// middle of the local shard and ends there: its first sub-chunks hide what is received, its last ones
	// what is sent.
	bracket bool
	inner   string // variable of the loop over the slices of a GEMM
}

// chunk reads what the schedule asks of a pipeline: to cut each slice, or to compute on several at once.
func (l *streamLowering) chunk(g *group) cut {
	whole := cut{subChunks: 1, width: 1}
	if !g.exchanges() {
		return whole
	}
	count, split, block := g.axis.Extent.Size, l.loopNumber(g, schedule.Split), l.loopNumber(g, schedule.Block)
	switch {
	case l.bySubChunks(g):
		whole.subChunks, whole.subChunk = split, l.subChunk
		if !g.computes() {
			return whole // there is nothing to do for several slices at once
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

// overSubChunks puts a loop over the sub-chunks of a slice around statements.
func (c *slicer) overSubChunks(s hostir.Stmt, body ...hostir.Stmt) *hostir.For {
	return &hostir.For{Info: hostir.InfoFrom(s, ""), Var: c.cut.subChunk, Count: domain.Extent{Size: c.cut.subChunks}, Body: body}
}

// overSlices puts a loop over the slices of a GEMM around statements.
func (c *slicer) overSlices(s hostir.Stmt, body ...hostir.Stmt) []hostir.Stmt {
	count := domain.Extent{Size: c.cut.width}
	if c.group.atOnce() {
		count = c.group.axis.Extent
	}
	return []hostir.Stmt{&hostir.For{Info: hostir.InfoFrom(s, ""), Var: c.cut.inner, Count: count, Body: body}}
}

// isLocal tests for the step of the local shard, the first one or the last. Steps count slices,
// also where an iteration takes several.
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

// index is the slice of this iteration: the s-th, or, from rank to rank, that of the rank at
// distance s.
func (c *slicer) index() expr.Expr {
	switch {
	case c.team == nil:
		return expr.Var(c.lowering.loop)
	case len(c.parts) > 0 && c.group.isRing():
		return c.team.Before(ranks.Offset{Block: c.following()}) // so that the last one is the rank itself
	case c.group.isRing():
		return c.team.Before(c.distance())
	default:
		return c.team.After(c.distance())
	}
}

// distance is how far the rank is whose slice this iteration takes.
func (c *slicer) distance() ranks.Offset {
	d := ranks.Offset{Block: c.shards()}
	if c.cut.width > 1 {
		d.Inner, d.Width = expr.Var(c.cut.inner), c.cut.width
	}
	return d
}

// shards counts slices: the iterations of the loop or, where each takes a sub-chunk, what these come to.
func (c *slicer) shards() expr.Expr {
	if c.cut.bracket {
		return ranks.Blocks(expr.Var(c.lowering.loop), c.cut.subChunks)
	}
	return expr.Var(c.lowering.loop)
}

// subChunkIndex is the number of the sub-chunk of a slice that this iteration takes.
func (c *slicer) subChunkIndex() expr.Expr {
	if c.cut.bracket {
		return expr.Op("%", expr.Var(c.lowering.loop), expr.Int(c.cut.subChunks))
	}
	return expr.Var(c.cut.subChunk)
}

// together is the number of the slices that this iteration computes on at once.
func (c *slicer) together() expr.Expr {
	return c.team.BlockAt(c.distance(), c.team.Reverse)
}

// pick gives a view of the slice of t at an index of axis; where slices are cut, of the sub-chunk at hand
// along cutAxis, unless that is none. It is the view given, or a new one.
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

// selected is a view of t at an index of an axis.
func (c *slicer) selected(s hostir.Stmt, view, t *hostir.Tensor, axis int, index expr.Expr) *hostir.Tensor {
	if view == nil {
		view = c.without(t, axis)
	}
	view.Of = &hostir.Select{Info: hostir.InfoFrom(s, ""), Out: view, In: t, Axis: axis, Index: index}
	return view
}

// subChunk is a view of the sub-chunk at hand of t along an axis.
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

// block is a view of the slices of t along an axis that this iteration computes on at once; where slices
// are cut, of the sub-chunk at hand of each of them.
func (c *slicer) block(s hostir.Stmt, t *hostir.Tensor, axis, cutAxis int) *hostir.Tensor {
	view := t
	if !c.group.atOnce() {
		parts := c.group.axis.Extent.Size / c.cut.width
		view = c.partOf(t, c.lowering.loop, axis, parts)
		view.Of = &hostir.Select{Info: hostir.InfoFrom(s, ""), Out: view, In: t, Axis: axis, Index: c.together(), Parts: parts}
	}
	if cutAxis == shard.NoAxis {
		return view
	}
	return c.subChunk(s, nil, view, cutAxis)
}

// viewUnless lets pick make a view another one where a condition does not hold.
func (c *slicer) viewUnless(s hostir.Stmt, note string, view *hostir.Tensor, cond expr.Expr, pick func(view *hostir.Tensor)) {
	other := *view
	pick(&other)
	hostir.ViewUnless(view, hostir.InfoFrom(s, note), cond, other.Of)
}

// partOf declares a view of one of equal parts of t along an axis.
func (c *slicer) partOf(t *hostir.Tensor, loop string, axis int, parts int64) *hostir.Tensor {
	view := c.declare(t, loop, t.Axes, t.Layout)
	view.Axes[axis] = domain.Axis{Extent: oneOf(t.Axes[axis].Extent, parts)}
	return view
}

// uneven complains of an axis whose sub-chunks would not be equal, once for all tensors that have it.
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
	d := hostir.Refuse(&l.errors, l.program, s, l.chooser(c.group, schedule.Split), schedule.Split, "%s elements along an axis of %s cannot be cut into %d equal sub-chunks",
		elements, hostir.Called(l.program, s, t), c.cut.subChunks)
	hostir.NoteDeclared(d, l.program, s, t).WithHint("choose another split")
}

// oneRun complains of an operand of a communication that is a sub-chunk and not one run of memory.
func (c *slicer) oneRun(s hostir.Stmt, subChunk *hostir.Tensor) {
	cut, ok := subChunk.Of.(*hostir.Select)
	if !ok || cut.Parts == 0 || hostir.Outside(cut.In, cut.Axis) < 0 {
		return
	}
	l, t, axis, outer := c.lowering, cut.In, cut.Axis, hostir.Outside(cut.In, cut.Axis)
	d := hostir.Refuse(&l.errors, l.program, s, l.chooser(c.group, schedule.Split), schedule.Split,
		"%s moves between ranks in sub-chunks along axis %d (%s), and axis %d (%s) lies outside of it",
		hostir.Called(l.program, s, t), axis, t.Axes[axis], outer, t.Axes[outer])
	hostir.NoteDeclared(d, l.program, s, t).WithHint("leave out split")
}

// ofAllRanks complains of what gathers along the axis that is cut: each sub-chunk would come from some of the ranks alone.
func (c *slicer) ofAllRanks(s hostir.Stmt, t *hostir.Tensor, axis int) {
	l := c.lowering
	d := hostir.Refuse(&l.errors, l.program, s, l.chooser(c.group, schedule.Split), schedule.Split,
		"%s is gathered along axis %d (%s), of which each sub-chunk would come from some ranks alone", hostir.Called(l.program, s, t), axis, t.Axes[axis])
	hostir.NoteDeclared(d, l.program, s, t).WithHint("leave out split")
}

// oneOf is the extent of one of equal parts.
func oneOf(e domain.Extent, parts int64) domain.Extent {
	return domain.Extent{Text: expr.Compact(expr.Op("/", e.Expr(), expr.Int(parts))), Size: e.Size / parts}
}

// cutAxis is the axis along which the slices of a tensor are cut: the one along which this pipeline
// makes it, or else the outermost one in memory, without the pipeline's own and others that stay whole,
// that a rank has more than one element of. So a sub-chunk is one run of memory.
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

// wholeAxes are those of a statement's result along which it makes no sub-chunks: that of a pipeline, the one along which
// it joins tensors, or takes part of one, and those that a reshape makes of others.
func wholeAxes(s hostir.Stmt, loop int) []int {
	switch s := s.(type) {
	case *hostir.Concat:
		return []int{loop, s.Axis}
	case *hostir.Slice:
		return []int{loop, s.Axis}
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

// oneElement complains of a step between ranks whose shards have one element each: all sub-chunks would be the same one.
func (c *slicer) oneElement(st step) {
	s, t, loop := st.stmt, hostir.Result(st.stmt), st.loop
	switch st.kind {
	case fromRankAtDistance, gatherAlongRing:
	case toRankAtDistance, sumAlongRing:
		t, loop = hostir.Uses(s)[0], slices.Index(hostir.AxisMap(s)[0], st.loop)
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

// follow lets a statement make the sub-chunk of its result that it reads the sub-chunks of its operands
// for, and complains where it would need other sub-chunks of them: those are not made yet.
func (c *slicer) follow(s hostir.Stmt) {
	out, axes := hostir.Result(s), hostir.AxisMap(s)
	for i, t := range hostir.Uses(s) {
		along, made := c.along[t]
		if !made || along == shard.NoAxis || c.cut.subChunks == 1 {
			continue
		}
		axis := axes[i][along]
		if other, known := c.along[out]; axis == shard.NoAxis || known && other != axis {
			p := c.lowering.program
			d := hostir.Refuse(&c.lowering.errors, p, s, c.lowering.chooser(c.group, schedule.Split), schedule.Split,
				"%s is made sub-chunk by sub-chunk along axis %d (%s), and this needs all sub-chunks of it at once", hostir.Called(p, s, t), along, t.Axes[along])
			for _, op := range p.Reference {
				if op.Out == hostir.Called(p, s, t) {
					d = d.AddNote(op.Pos, "the edge (data) comes from %s of %s, here", op.Kind, op.Out)
				}
			}
			hostir.NoteDeclared(d, p, s, t).WithHint("leave out split")
			continue
		}
		c.along[out] = axis
	}
}
