package streams

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/schedule"
)

// The result of a point-to-point sum can only be gathered when it is complete, and then no work is left that could hide
// the gather. So the slices of the sum and of the gather may be split into the same sub-chunks. Each sub-chunk is
// summed as soon as its parts have arrived, and is gathered while the GEMMs of the next sub-chunk run.

// subChunkNote explains the order of the loops to readers of the emitted program.
const subChunkNote = "sub-chunk by sub-chunk, so that one travels while the next one is computed"

// nameSubChunkLoop finds the point-to-point sums (summed), and names the loop variable over sub-chunks if a pipeline goes through
// them one after the other. It does nothing if the schedule interchanges no loops.
func (l *streamLowering) nameSubChunkLoop(groups []*group) {
	if interchanged(l.program) == 0 {
		return
	}
	l.summed = map[*hostir.Tensor]bool{}
	for _, g := range groups {
		for _, st := range g.steps {
			l.summed[hostir.Result(st.stmt)] = st.kind == toRankAtDistance
		}
	}
	if slices.ContainsFunc(groups, l.bySubChunks) {
		l.subChunk = l.names.Fresh("c")
	}
}

// bySubChunks reports whether a pipeline goes through the sub-chunks of its slices one after the other. The schedule
// has to set interchange for it, and it has to compute the parts of a point-to-point sum, or gather the result of such
// a sum.
func (l *streamLowering) bySubChunks(g *group) bool {
	return l.summed != nil && l.loopChoice(g, schedule.Interchange) == schedule.True && slices.ContainsFunc(g.steps, func(st step) bool {
		return st.kind == toRankAtDistance || st.kind == fromRankAtDistance && l.isSummed(st)
	})
}

// isSummed reports whether the operand of a step is the result of a point-to-point sum.
func (l *streamLowering) isSummed(st step) bool { return l.summed[hostir.Uses(st.stmt)[0]] }

// sumOfSubChunks returns a loop that adds up the parts, sub-chunk by sub-chunk along an axis of the operand.
//
//	before: C = Reduce(sum, P_parts, axis 0)
//	after:  For c in 2: C_c = Reduce(sum, P_parts_c, axis 0)
func (c *slicer) sumOfSubChunks(r hostir.Stmt, cutAxis int) hostir.Stmt {
	if cutAxis == shard.NoAxis { // oneElement reports this as an error
		return r
	}
	axis := hostir.AxisMap(r)[0][cutAxis]
	parts, sum := c.subChunk(r, nil, c.parts[r], cutAxis), c.subChunk(r, nil, hostir.Result(r), axis)
	hostir.ReplaceUses(r, []*hostir.Tensor{parts})
	hostir.ReplaceDef(r, hostir.Result(r), sum)
	return c.overSubChunks(r, r)
}
