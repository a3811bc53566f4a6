package streams

import (
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Communications lists the communications of a program, pipeline by pipeline, with the facts that decide which
// schedules are legal for them. It groups statements into pipelines as lower-streams does. ok is false if the Stream
// axis of some statement cannot be lowered.
func Communications(p *hostir.Program) (list []*schedule.Facts, ok bool) {
	l := newStreamLowering(p)
	summed := map[*hostir.Tensor]bool{}
	for _, g := range l.group(p.Body) {
		for _, st := range g.steps {
			if !shard.Moves(p, st.stmt) {
				continue
			}
			out := hostir.Result(st.stmt)
			summed[out] = st.kind == toRankAtDistance
			f := l.factsOf(g, st)
			f.Summed = summed[out] || st.kind == fromRankAtDistance && summed[hostir.Uses(st.stmt)[0]]
			list = append(list, f)
		}
	}
	return list, l.errors.Len() == 0
}

// factsOf returns the facts of a step that moves data between ranks.
func (l *streamLowering) factsOf(g *group, st step) *schedule.Facts {
	f := &schedule.Facts{
		Name: l.moves[st.stmt], Kind: movementKind(st.stmt), Pos: st.stmt.Meta().Pos, InLoop: g.pipelined(), P2P: st.exchanges(),
		Schedule: &l.program.Choices.Schedule,
	}
	switch s := st.stmt.(type) {
	case *hostir.Reduce:
		f.Sum, f.Function = true, s.Fn
	case *hostir.Set:
		f.Parts = partsOfSum(l.program, s)
	}
	if m := shard.Describe(st.stmt); len(m.Shifts) > 0 {
		f.Axis = m.Shifts[0].Mesh
		if axis := m.In.Mesh.Axis(f.Axis); axis != nil {
			f.Ranks = axis.Size
		}
	}
	if f.P2P {
		f.Loop = l.loopOf(g)
	} else {
		f.Loop = []string{f.Name}
	}
	return f
}

// partsOfSum reports whether a Set gathers the parts of a sum on every rank, where a Reduce adds them.
func partsOfSum(p *hostir.Program, s *hostir.Set) bool {
	return slices.ContainsFunc(p.Body, func(other hostir.Stmt) bool {
		r, ok := other.(*hostir.Reduce)
		return ok && r.In == s.Out && r.Fn == "sum" && r.In.Axes[r.Axis].Kind == domain.Stream
	})
}

// movementKind returns the kind of communication that a statement on whole tensors needs, as in reports: "allgather".
func movementKind(s hostir.Stmt) string {
	m := shard.Describe(s)
	_, sum := s.(*hostir.Reduce)
	scatters, gathers := false, false
	for _, sh := range m.Shifts {
		scatters, gathers = scatters || sh.To != shard.NoAxis, gathers || sh.From != shard.NoAxis && !sh.Reduced
	}
	pairs := len(m.Shifts) == 0 && shard.IsSplit(m.In) // from mesh to mesh
	return collective.Form{FromRoot: !sum && !gathers && !pairs, Splits: scatters, Reduces: sum, Pairs: pairs}.Type().Kind()
}
