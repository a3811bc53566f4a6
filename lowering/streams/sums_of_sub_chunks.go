package streams

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/schedule"
)

// What a sum from rank to rank makes is gathered when all of it is there, and nothing is left
// to hide that transfer. So the slices of both pipelines may be cut into the same sub-chunks: a
// sub-chunk is summed when its parts are there, and gathered while the GEMMs of the next one run.

// subChunkNote is what the order is for.
const subChunkNote = "sub-chunk by sub-chunk, so that one travels while the next one is computed"

// nameSubChunkLoop names the variable of the loops over sub-chunks, where the schedule asks for them.
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

// bySubChunks reports whether a pipeline takes the sub-chunks of its slices one after the other: it
// makes parts of a sum, or gathers such a sum.
func (l *streamLowering) bySubChunks(g *group) bool {
	return l.summed != nil && l.loopChoice(g, schedule.Interchange) == schedule.True && slices.ContainsFunc(g.steps, func(st step) bool {
		return st.kind == toRankAtDistance || st.kind == fromRankAtDistance && l.isSummed(st)
	})
}

// isSummed reports whether what a step gathers is a sum from rank to rank.
func (l *streamLowering) isSummed(st step) bool { return l.summed[hostir.Uses(st.stmt)[0]] }

// sumOfSubChunks is the sum of the parts, sub-chunk by sub-chunk along an axis of the operand.
//
//	before: C = Reduce(sum, P_parts, axis 0)
//	after:  For c in 2: C_c = Reduce(sum, P_parts_c, axis 0)
func (c *slicer) sumOfSubChunks(r hostir.Stmt, cutAxis int) hostir.Stmt {
	if cutAxis == shard.NoAxis { // which oneElement refuses
		return r
	}
	axis := hostir.AxisMap(r)[0][cutAxis]
	parts, sum := c.subChunk(r, nil, c.parts[r], cutAxis), c.subChunk(r, nil, hostir.Result(r), axis)
	hostir.SubstituteUses(r, func(*hostir.Tensor) *hostir.Tensor { return parts })
	hostir.SubstituteDefs(r, func(*hostir.Tensor) *hostir.Tensor { return sum })
	return c.overSubChunks(r, r)
}
