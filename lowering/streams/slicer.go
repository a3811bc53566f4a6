package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
)

// slicer rewrites the statements of one pipeline for one iteration: they then use views of the current slices.
// Statements share the view of a tensor's current slice.
type slicer struct {
	lowering *streamLowering
	group    *group
	cut      cut                            // how slices are combined or split into GEMMs
	team     *ranks.Axis                    // the ranks that exchange slices, if the pipeline exchanges from rank to rank; otherwise nil
	parts    map[hostir.Stmt]*hostir.Tensor // reduction -> buffer for the parts of its sum, or for received sums
	after    []hostir.Stmt                  // statements after the loop
	slices   map[sliceKey]*hostir.Tensor    // the views in the iteration
	along    map[*hostir.Tensor]int         // if slices are split: tensor -> the axis of its sub-chunks
	body     []hostir.Stmt
	whole    bool // the current statement needs slices that are contiguous in memory
}

// sliceKey identifies a view: a slice of a tensor along axis, or a sub-chunk along cutAxis of such a slice.
type sliceKey struct {
	tensor        *hostir.Tensor
	axis, cutAxis int
}

// step appends to the iteration the statements for one step.
func (c *slicer) step(st step) {
	c.whole = shard.NeedsWholeSlices(c.lowering.program, st.stmt) // before its operands become slices
	c.oneElement(st)
	switch st.kind {
	case broadcastFromRank:
		c.broadcast(st)
	case fromRankAtDistance:
		c.passFromRank(st)
	case toEachRank:
		c.passToEach(st)
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

// statement appends the statement of a step, on slices. If an iteration takes single slices, they do not have the axis
// of the pipeline, and the attributes of the statement change accordingly.
func (c *slicer) statement(st step) {
	s, axisMap := st.stmt, hostir.AxisMap(st.stmt)
	next, inAxis, oneRow := 0, -1, rowOfBatches(s, st.loop)
	moves := shard.Moves(c.lowering.program, s) // before its operands become slices
	live, cut := hostir.Live(hostir.Uses(s)[0]), c.follow(s, wholeAxes(s, st.loop))
	hostir.SubstituteUses(s, func(t *hostir.Tensor) *hostir.Tensor {
		axis, along := slices.Index(axisMap[next], st.loop), shard.NoAxis
		if cut != shard.NoAxis {
			along = slices.Index(axisMap[next], cut)
		}
		if along != shard.NoAxis && t.Axes[along].LocalSize() == 1 {
			if moves && t.Axes[along].Kind == domain.Device {
				c.ofAllRanks(s, t, along)
			}
			along = shard.NoAxis // all sub-chunks read the same element
		}
		if next == 0 {
			inAxis = axis
		}
		next++
		return c.slice(s, t, axis, along)
	})
	hostir.SubstituteDefs(s, func(t *hostir.Tensor) *hostir.Tensor {
		if t.Role == hostir.View {
			return c.made(t, st.loop, cut) // the statement itself makes the view
		}
		return c.slice(s, t, st.loop, cut)
	})
	if moves && c.cut.subChunks > 1 {
		c.oneRun(s, append(hostir.Uses(s), hostir.Result(s)))
	}
	if c.cut.width == 1 {
		if oneRow {
			ofOneRow(s)
		}
		dropAxis(s, st.loop, inAxis, slices.Index(live, inAxis))
	}
	c.body = append(c.body, s)
}

// dropAxis renumbers the axes in a statement's attributes, after axis in has been removed from its first operand and
// axis out from its results. live is the index of axis in among the axes of the first operand that are not reduced.
func dropAxis(s hostir.Stmt, out, in, live int) {
	hostir.MoveAxis(s, in, out, -1)
	switch s := s.(type) {
	case *hostir.Gather:
		if out < s.Batches {
			s.Batches--
		}
	case *hostir.Permute:
		s.Perm = hostir.DropAxis(s.Perm, live)
	}
}

// slice returns the view of t for this iteration: its slice at the current index of axis. If axis is split over ranks,
// the rank has only one slice. If slices are split, slice returns the current sub-chunk along cutAxis. If a GEMM takes
// several slices, slice returns all of them. With shard.NoAxis as axis or cutAxis, t has no such axis.
func (c *slicer) slice(s hostir.Stmt, t *hostir.Tensor, axis, cutAxis int) *hostir.Tensor {
	key := sliceKey{t, axis, cutAxis}
	if c.cut.width > 1 && axis != shard.NoAxis && t.Axes[axis].LocalSize() == 1 {
		axis = shard.NoAxis // all slices read the same element
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
	if whole := c.slices[sliceKey{t, axis, shard.NoAxis}]; whole != nil && t.Role == hostir.View && cutAxis != shard.NoAxis {
		c.slices[key] = c.subChunk(s, nil, whole, c.inSlice(axis, cutAxis)) // of the view that a statement made, because t itself has no memory
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

// made declares, for this iteration, the result of a statement that makes a view: of a slice, of a sub-chunk, or of
// several slices.
func (c *slicer) made(t *hostir.Tensor, axis, cutAxis int) *hostir.Tensor {
	var view *hostir.Tensor
	if c.cut.width > 1 {
		view = c.partOf(t, c.lowering.loop, axis, c.group.axis.Size/c.cut.width)
	} else {
		view = c.without(t, axis)
	}
	if cutAxis != shard.NoAxis {
		view.Axes[c.inSlice(axis, cutAxis)].Extent = oneOf(t.Axes[cutAxis].Extent, c.cut.subChunks)
	}
	c.slices[sliceKey{t, axis, cutAxis}] = view
	return view
}

// inSlice returns the index of the axis other in the part of a tensor that an iteration takes along axis. A single
// slice does not have axis.
func (c *slicer) inSlice(axis, other int) int {
	if c.cut.width == 1 && other > axis {
		return other - 1
	}
	return other
}

// without declares a view of t that does not have the given axis.
func (c *slicer) without(t *hostir.Tensor, axis int) *hostir.Tensor {
	var layout []int
	if t.Layout != nil {
		layout = hostir.DropAxis(t.Layout, axis)
	}
	return c.declare(t, c.lowering.loop, lists.Without(t.Axes, axis), layout)
}

// declare declares a view of t for one iteration of a loop, named after t and the loop.
func (c *slicer) declare(t *hostir.Tensor, loop string, axes []domain.Axis, layout []int) *hostir.Tensor {
	view := c.lowering.names.Declare(t, "_"+loop)
	view.Role, view.Axes, view.Layout = hostir.View, slices.Clone(axes), slices.Clone(layout)
	return view
}

func (c *slicer) complain(s hostir.Stmt, t *hostir.Tensor, axis, outer int) {
	p := c.lowering.program
	d := c.lowering.errors.Add(s.Meta().Pos, diag.NotContiguous,
		"a slice of %s %s along axis %d (%s) is not contiguous: axis %d (%s) lies outside of it",
		hostir.Called(p, s, t), domain.FormatAxes(t.Axes), axis, t.Axes[axis], outer, t.Axes[outer])
	hostir.NoteDeclared(d, p, s, t).WithHint("make the Stream axis the first axis of the tensor")
}
