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

// collectParts allocates the buffer for the parts of a sum, one from each rank of the team. If sumsInPlace allows it,
// the pipeline computes the local part directly in that buffer.
func (c *slicer) collectParts(st step) {
	r, l := st.stmt, c.lowering
	in, i := st.operand()
	parts := l.names.Declare(in, "_parts")
	parts.Mesh = hostir.Result(r).Mesh
	part := c.partAxis(st)
	if in.Layout != nil {
		parts.Layout = append([]int{part}, partLayout(in.Layout, part, i)...)
	}
	parts.Axes[part].Place(domain.Serial, "")
	parts.Axes[i].Place(domain.Device, in.Axes[part].Mesh)
	c.parts[r] = parts
	l.emit(&hostir.Allocate{Info: hostir.InfoFrom(r, ""), Tensor: parts})
	cutAxis := c.cutAxis(in, i) // chosen before the parts are computed, so that a part is contiguous when it is sent
	if !c.sumsInPlace(r, in, part, i) {
		return
	}
	split, made := c.localStep(r), c.pick(r, nil, in, i, c.index(), cutAxis)
	other := made.Of
	c.pick(r, made, parts, part, c.team.Coordinate, cutAxis)
	hostir.ViewUnless(made, split.Info, split.Cond, other)
	c.slices[sliceKey{in, i, cutAxis}] = made
}

// partLayout returns the layout of one part: the layout of a slice, with the axis of the pipeline at the position of
// the axis of the ranks.
func partLayout(layout []int, part, loop int) []int {
	slice := lists.Except(layout, func(a int) bool { return a == loop })
	slice[slices.Index(slice, part)] = loop
	return slice
}

// between reports whether there are axes between the axis of the ranks and the axis of the pipeline. The axis of the
// ranks, even if it has one element, is then at another position in a part than in a slice.
func between(t *hostir.Tensor, part, loop int) bool {
	axes := t.Axes[min(part, loop)+1 : max(part, loop)]
	return slices.ContainsFunc(axes, func(a domain.Axis) bool { return a.Kind != domain.Reduction })
}

// sumsInPlace reports whether the pipeline computes the local partial sum directly in the buffer for the parts.
func (c *slicer) sumsInPlace(r hostir.Stmt, in *hostir.Tensor, part, loop int) bool {
	return !between(in, part, loop) && c.lowering.program.Choices.Get(schedule.LocalShard) != schedule.Copied &&
		c.lowering.choice(r, schedule.Fuse) != schedule.PeerRead && c.cut.width == 1 && in.Role == hostir.Temp &&
		c.group.makes[in] && c.lowering.uses.mayAddTo(in) // no other statement reads it
}

// partAxis returns the operand's axis along which each rank has one part of the sum.
func (c *slicer) partAxis(st step) int {
	return slices.IndexFunc(hostir.Uses(st.stmt)[0].Axes, func(a domain.Axis) bool {
		return hostir.SplitOver(a) == shard.Describe(st.stmt).Shifts[0].Mesh
	})
}

// passToRank appends one step of a reduce-scatter from rank to rank. All parts are added up after the loop.
//
//	before: C = Reduce(sum, P, axis 0)          P [DIDx(D), Stream(D), m, N], C [r(D), DIDx(D), m, N]
//
//	after:  P_s = Select(P, axis 1, index (rank + s) % D)
//	        If s == 0: (P_s is the part of this rank: copy it to the buffer for the parts, unless it was computed there)
//	        Else: (send P_s to rank (rank + s) % D, receive a part from rank (D + rank - s) % D)
//	        and after the loop: C = Reduce(sum, P_parts, axis 0)
func (c *slicer) passToRank(st step) {
	r := st.stmt
	in, i := st.operand()
	cutAxis, part := c.cutAxis(in, i), c.partAxis(st)
	to, from := c.team.After(c.distance()), c.team.Before(c.distance())
	sent, inPlace := c.slices[sliceKey{in, i, cutAxis}], c.sumsInPlace(r, in, part, i)
	if sent == nil || inPlace || c.cut.width > 1 {
		sent = c.pick(r, nil, in, i, c.index(), cutAxis)
	}
	into, split := c.pick(r, nil, c.parts[r], part, from, cutAxis), c.localStep(r)
	exchange := c.exchange(r, sent, into, to, from)
	if inPlace {
		split.Cond, split.Body = expr.Opposite(split.Cond), exchange // the local step computed it in place
	} else {
		local := c.pick(r, nil, c.parts[r], part, c.team.Coordinate, cutAxis)
		split.Body, split.Else = []hostir.Stmt{c.copyPart(r, local, sent, part, i)}, exchange
	}
	if c.cut.width > 1 {
		c.body = append(c.body, c.overSlices(r, split)...)
	} else {
		c.body = append(c.body, split)
	}
	hostir.ReplaceUses(r, []*hostir.Tensor{c.parts[r]})
	if c.lowering.bySubChunks(c.group) {
		c.after = append(c.after, c.sumOfSubChunks(r, cutAxis))
		return
	}
	c.after = append(c.after, r)
}

// copyPart returns the copy of the local partial sum to the buffer for the parts. If the axis of the ranks is at
// another position there, the copy is between views without this axis.
func (c *slicer) copyPart(r hostir.Stmt, local, sent *hostir.Tensor, part, loop int) hostir.Stmt {
	if between(hostir.Uses(r)[0], part, loop) {
		if part > loop {
			part--
		} else {
			loop--
		}
		local, sent = c.selected(r, nil, local, loop, expr.Int(0)), c.selected(r, nil, sent, part, expr.Int(0))
	}
	return &hostir.Set{Info: *r.Meta(), Out: local, In: sent}
}
