package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// step is a statement with its role in a pipeline.
type step struct {
	stmt hostir.Stmt
	kind stepKind
	loop int          // the axis of the result along which the pipeline runs; shard.NoAxis outside of pipelines
	axis *domain.Axis // the Stream axis of the result or, in a sum over ranks, of the operand; nil outside of pipelines

	along string // the mesh axis whose coordinates decide the order of slices; empty: no axis
	chain int    // steps of different chains do not share a pipeline; see chains
}

// operand returns the first operand of the statement, and the axis of it along which the pipeline runs.
func (st step) operand() (in *hostir.Tensor, axis int) {
	return hostir.Uses(st.stmt)[0], slices.Index(hostir.AxisMap(st.stmt)[0], st.loop)
}

// stepKind says what one iteration of a pipeline does for a statement.
type stepKind int

const (
	// The statement is outside of pipelines, and runs once, on the caller's stream.
	unpipelined stepKind = iota
	// The statement itself runs, on slices.
	onSlices
	// Rank s broadcasts its slice: the axis is DIDx in the operand, and Stream in the result.
	broadcastFromRank
	// Each rank receives from the rank at distance s: the axis is DIDx in the operand, and Stream in the result.
	fromRankAtDistance
	// Each rank sends another part to each rank, and receives from the rank at distance s: the axis is DIDx in the operand,
	// and Stream in the result. Another axis is DIDx in the result.
	toEachRank
	// Each rank sends its part of a sum to the rank at distance s, and adds up the received parts after the loop. The
	// axis is Stream in the operand, and DIDx in the result.
	toRankAtDistance
	// All ranks reduce to rank s: the axis is Stream in the operand, and DIDx in the result.
	reduceToRank
	// Each rank receives a slice from the previous rank and sends it on in the next step. The axis is DIDx in the
	// operand, and Stream in the result.
	gatherAlongRing
	// Each rank adds its part to a sum from the previous rank, and sends the sum on in the next step. The axis is
	// Stream in the operand, and DIDx in the result.
	sumAlongRing
)

// atDistance reports whether the ranks exchange with ranks at a distance that changes from slice to slice.
func (st step) atDistance() bool {
	return st.kind == fromRankAtDistance || st.kind == toRankAtDistance || st.kind == toEachRank
}

// alongRing reports whether ranks send received data on to the next rank.
func (k stepKind) alongRing() bool { return k == gatherAlongRing || k == sumAlongRing }

// exchanges reports whether ranks exchange slices from rank to rank in the step, without a collective.
func (st step) exchanges() bool { return st.atDistance() || st.kind.alongRing() }

// classify returns the step of a statement. If the statement has a Stream axis that cannot be lowered, classify reports
// an error, and the step is unpipelined.
func (l *streamLowering) classify(s hostir.Stmt) step {
	out, once := hostir.Result(s), step{stmt: s, kind: unpipelined, loop: shard.NoAxis}
	if out == nil || hostir.AxisMap(s) == nil {
		return once
	}
	if st, ok := l.toRank(s); ok {
		return st
	}
	if t := cutsBlocks(s); t != nil {
		return l.complain(s, "declare it without one",
			"%s has a Stream axis, and a GEMM with scales of blocks is cut into slices of several rows", hostir.Called(l.program, s, t))
	}
	loop := hostir.StreamAxis(out)
	if loop < 0 {
		return once
	}
	st := step{stmt: s, kind: onSlices, loop: loop, axis: &out.Axes[loop]}
	rows := hostir.AxisMap(s)
	if hostir.StreamsColumns(s) {
		return l.complain(s, "declare the result with the Stream axis along the rows of the first operand, or without one",
			"the Stream axis of %s runs along the columns of %s: a pipeline takes rows",
			hostir.Called(l.program, s, out), hostir.Called(l.program, s, hostir.Uses(s)[1]))
	}
	switch s := s.(type) {
	case *hostir.Positions:
		return once
	case *hostir.Attention:
		return l.complain(s, "declare it without one, and stream it with set", "%s has a Stream axis, and an attention is done at once",
			hostir.Called(l.program, s, out))
	case *hostir.Reshape:
		if shard.SlicedAlong(s) == shard.NoAxis {
			return once // the reshape creates the axis; later statements run along it
		}
	case *hostir.Broadcast:
		if s.Axis == loop {
			return once
		}
	case *hostir.Set:
		if i := slices.Index(rows[0], loop); i >= 0 && hostir.SplitOver(s.In.Axes[i]) != "" {
			if !shard.SameMesh(s.In, s.Out) {
				return once // not every rank of the team has the result; later statements run along the axis
			}
			return l.fromRank(s, i, st)
		}
	}
	for _, a := range out.Axes[loop+1:] {
		if a.Kind == domain.Stream {
			return l.complain(s, "leave one of them", "%s has two Stream axes: a pipeline runs along one", hostir.Called(l.program, s, out))
		}
	}
	return st
}

// cutsBlocks returns a tensor of a BlockLinear whose Stream axis splits blocks or columns, or leaves one row in each
// slice or batch. It returns nil if there is none.
func cutsBlocks(s hostir.Stmt) *hostir.Tensor {
	b, ok := s.(*hostir.BlockLinear)
	if !ok {
		return nil
	}
	for i, t := range hostir.Uses(b) {
		if axis := hostir.StreamAxis(t); axis >= 0 && hostir.AxisMap(b)[i][axis] == hostir.Unmapped {
			return t
		}
	}
	if axis := hostir.StreamAxis(b.Out); axis >= 0 && (len(hostir.Live(b.Out)) == 2 || !slices.Contains(hostir.AxisMap(b)[0], axis) ||
		rowOfBatches(b, axis)) {
		return b.Out
	}
	return nil
}

// complain reports that a statement cannot be in a pipeline, with a hint. It returns an unpipelined step.
func (l *streamLowering) complain(s hostir.Stmt, hint, format string, args ...any) step {
	d := l.errors.Add(s.Meta().Pos, diag.NotLowerable, format, args...).WithHint("%s", hint)
	_ = hostir.NoteDeclared(d, l.program, s, hostir.Result(s))
	return step{stmt: s, kind: unpipelined, loop: shard.NoAxis}
}

// fromRank returns the step of a Set that turns axis i of the operand, which is split over ranks, into the Stream axis
// of the result. st is the step so far.
func (l *streamLowering) fromRank(s *hostir.Set, i int, st step) step {
	switch pipeline := l.program.Choices.Get(schedule.Pipeline); {
	case l.sendsToEach(s):
		st.kind = toEachRank
		return st
	case pipeline == schedule.BroadcastEach:
		st.kind = broadcastFromRank
		return st
	case pipeline == schedule.P2P:
		st.kind = fromRankAtDistance
		if l.choice(s, schedule.Steps) == schedule.Ring {
			st.kind = gatherAlongRing
		}
		return st
	}
	if s.In.Axes[i].Size == 1 {
		return st // there is a single rank, which has the whole axis
	}
	d := l.errors.Add(s.Pos, diag.NotLowerable, "%s is split over mesh axis %s along the Stream axis of %s: "+
		"the collective pipeline streams along an axis that is not split", hostir.Called(l.program, s, s.In), s.In.Axes[i].Mesh,
		hostir.Called(l.program, s, s.Out))
	hostir.NoteDeclared(d, l.program, s, s.Out).
		WithHint("choose schedule: {pipeline: broadcast}, in which rank s broadcasts its slice in iteration s")
	return step{stmt: s, kind: unpipelined, loop: shard.NoAxis}
}

// toRank returns the step of a Reduce over ranks that scatters along the operand's Stream axis, if the schedule selects
// one. Otherwise it returns false, and the Reduce becomes a ReduceScatter after the pipeline that computes the operand.
func (l *streamLowering) toRank(s hostir.Stmt) (step, bool) {
	kind, asked := map[string]stepKind{schedule.ReduceTo: reduceToRank,
		schedule.P2P: toRankAtDistance}[l.program.Choices.Get(schedule.Pipeline)]
	r, ok := s.(*hostir.Reduce)
	if !ok || !asked || !shard.Reshards(s) || !shard.ScattersSlices(r) {
		return step{}, false
	}
	m := shard.Describe(s)
	if kind == toRankAtDistance && l.choice(s, schedule.Steps) == schedule.Ring {
		kind = sumAlongRing
	}
	if kind == sumAlongRing && !l.uses.mayAddTo(r.In) {
		return l.complainOfSums(r), true
	}
	return step{stmt: s, kind: kind, loop: m.Shifts[0].To, axis: &r.In.Axes[m.Scattered()]}, true
}
