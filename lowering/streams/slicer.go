package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
)

// slicer rewrites the statements of one pipeline to one iteration's slices. A
// tensor has one view of the slice at hand.
type slicer struct {
	lowering *streamLowering
	group    *group
	cut      cut                            // how slices become GEMMs
	team     *ranks.Axis                    // of a pipeline that passes slices from rank to rank
	parts    map[hostir.Stmt]*hostir.Tensor // reduction -> where it collects the parts of the sum
	after    []hostir.Stmt                  // what follows the loop
	slices   map[sliceKey]*hostir.Tensor
	along    map[*hostir.Tensor]int // where slices are cut: the axis of a tensor that its sub-chunks lie along
	body     []hostir.Stmt
	whole    bool // the statement at hand needs slices that are contiguous in memory
}

// sliceKey names a view: of a slice along axis, or a sub-chunk of it along cutAxis.
type sliceKey struct {
	tensor        *hostir.Tensor
	axis, cutAxis int
}

// step appends what an iteration does for one step.
func (c *slicer) step(st step) {
	c.whole = shard.NeedsWholeSlices(c.lowering.program, st.stmt) // asked while its operands are whole tensors
	c.oneElement(st)
	switch st.kind {
	case broadcastFromRank:
		c.broadcast(st)
	case fromRankAtDistance:
		c.passFromRank(st)
	case toRankAtDistance:
		c.passToRank(st)
	case reduceToRank:
		c.reduce(st)
	case gatherAlongRing:
		c.passOn(st)
	case sumAlongRing:
		c.passSumOn(st)
	default:
		c.statement(st)
	}
}

// statement appends s on slices. The axis that the slices lack is taken out of its
// attributes, too.
func (c *slicer) statement(st step) {
	s, axisMap := st.stmt, hostir.AxisMap(st.stmt)
	next, inAxis, oneRow := 0, -1, rowOfBatches(s, st.loop)
	moves := shard.Moves(c.lowering.program, s) // asked while its operands are whole tensors
	c.follow(s)
	live, cut := hostir.Live(hostir.Uses(s)[0]), c.cutAxis(hostir.Result(s), wholeAxes(s, st.loop)...)
	hostir.SubstituteUses(s, func(t *hostir.Tensor) *hostir.Tensor {
		axis, along := slices.Index(axisMap[next], st.loop), shard.NoAxis
		if cut != shard.NoAxis {
			along = slices.Index(axisMap[next], cut)
		}
		if along != shard.NoAxis && t.Axes[along].LocalSize() == 1 {
			if moves && t.Axes[along].Kind == domain.Device {
				c.ofAllRanks(s, t, along)
			}
			along = shard.NoAxis // one element stands for those of all sub-chunks
		}
		if next == 0 {
			inAxis = axis
		}
		next++
		return c.slice(s, t, axis, along)
	})
	hostir.SubstituteDefs(s, func(t *hostir.Tensor) *hostir.Tensor {
		if t.Role == hostir.View {
			return c.made(t, st.loop, cut) // the statement makes it
		}
		return c.slice(s, t, st.loop, cut)
	})
	if moves && c.cut.subChunks > 1 && c.cut.width == 1 {
		for _, t := range append(hostir.Uses(s), hostir.Result(s)) {
			c.oneRun(s, t)
		}
	}
	if c.cut.width == 1 {
		if oneRow {
			ofOneRow(s)
		}
		dropAxis(s, st.loop, inAxis, slices.Index(live, inAxis))
	}
	c.body = append(c.body, s)
}

// dropAxis renumbers a statement's attributes for operands without axis in, which
// was number live without reduced axes, and results without axis out.
func dropAxis(s hostir.Stmt, out, in, live int) {
	switch s := s.(type) {
	case *hostir.Reduce:
		if in >= 0 && in < s.Axis {
			s.Axis--
		}
	case *hostir.Broadcast:
		if out < s.Axis {
			s.Axis--
		}
	case *hostir.Slice:
		if in >= 0 && in < s.Axis {
			s.Axis--
		}
	case *hostir.Concat:
		if out < s.Axis {
			s.Axis--
		}
	case *hostir.Permute:
		s.Perm = hostir.DropAxis(s.Perm, live)
	}
}

// slice gives the slice of t at this iteration's index of axis; where the axis is split
// over ranks, the one slice that a rank has. Where slices are cut, it gives the sub-chunk at hand
// along an axis that is cut; where several make a GEMM, all of them. An axis of none stands for a tensor
// that has no such axis.
func (c *slicer) slice(s hostir.Stmt, t *hostir.Tensor, axis, cutAxis int) *hostir.Tensor {
	key := sliceKey{t, axis, cutAxis}
	if c.cut.width > 1 && axis != shard.NoAxis && t.Axes[axis].LocalSize() == 1 {
		axis = shard.NoAxis // one element stands for those of all slices
	}
	if axis == shard.NoAxis && cutAxis == shard.NoAxis {
		return t
	}
	if view := c.slices[key]; view != nil {
		return view
	}
	if axis == shard.NoAxis {
		c.slices[key] = c.subChunk(s, nil, t, cutAxis)
		return c.slices[key]
	}
	if inner := hostir.Outside(t, axis); inner >= 0 && c.whole {
		c.complain(s, t, axis, inner)
	}
	index := c.index()
	if t.Axes[axis].LocalSize() == 1 {
		index = expr.Int(0)
	}
	if c.cut.width > 1 {
		c.slices[key] = c.block(s, t, axis, cutAxis)
	} else {
		c.slices[key] = c.pick(s, nil, t, axis, index, cutAxis)
	}
	return c.slices[key]
}

// made declares the view of a slice, of a sub-chunk of it, or of several slices, that a statement
// makes itself.
func (c *slicer) made(t *hostir.Tensor, axis, cutAxis int) *hostir.Tensor {
	var view *hostir.Tensor
	at := cutAxis
	if c.cut.width > 1 {
		view = c.partOf(t, c.lowering.loop, axis, c.group.axis.Extent.Size/c.cut.width)
	} else {
		view = c.without(t, axis)
		if cutAxis > axis {
			at--
		}
	}
	if cutAxis != shard.NoAxis {
		view.Axes[at].Extent = oneOf(t.Axes[cutAxis].Extent, c.cut.subChunks)
	}
	c.slices[sliceKey{t, axis, cutAxis}] = view
	return view
}

// without declares a view of t without axis.
func (c *slicer) without(t *hostir.Tensor, axis int) *hostir.Tensor {
	var layout []int
	if t.Layout != nil {
		layout = hostir.DropAxis(t.Layout, axis)
	}
	return c.declare(t, c.lowering.loop, slices.Delete(slices.Clone(t.Axes), axis, axis+1), layout)
}

// declare declares a view of t, named after it and the loop that it is one iteration of.
func (c *slicer) declare(t *hostir.Tensor, loop string, axes []domain.Axis, layout []int) *hostir.Tensor {
	l := c.lowering
	view := &hostir.Tensor{
		Name: l.names.Fresh(t.Name + "_" + loop), DType: t.DType, Mesh: t.Mesh, Role: hostir.View,
		Axes: slices.Clone(axes), Layout: slices.Clone(layout), Pos: t.Pos,
	}
	l.program.Tensors = append(l.program.Tensors, view)
	return view
}

func (c *slicer) complain(s hostir.Stmt, t *hostir.Tensor, axis, outer int) {
	p := c.lowering.program
	d := c.lowering.errors.Add(s.Meta().Pos, diag.NotContiguous,
		"a slice of %s %s along axis %d (%s) is not contiguous: axis %d (%s) lies outside of it",
		hostir.Called(p, s, t), domain.FormatAxes(t.Axes), axis, t.Axes[axis], outer, t.Axes[outer])
	hostir.NoteDeclared(d, p, s, t).WithHint("make the Stream axis the first axis of the tensor")
}
