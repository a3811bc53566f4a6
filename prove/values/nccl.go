package values

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// partOf identifies a part by its rank, and its index in Rank.Parts.
type partOf struct{ rank, part int32 }

// meeting is one NCCL call: its parts in the order of the team, the sender before the receiver.
type meeting struct {
	parts []partOf
	done  bool
}

// meet matches the parts of NCCL calls in the order of issue. It finds the parts of a collective by communicator, and a send with
// its receive by their two ranks.
func (m *machine) meet() {
	type place struct{ comm, from, to, turn int32 }
	m.meetings = map[partOf]*meeting{}
	at := map[place]*meeting{}
	for r := range m.p.Ranks {
		turns := map[place]int32{} // number of parts of each kind so far
		for n, p := range m.p.Ranks[r].Parts {
			key := place{comm: p.Comm, from: -1, to: -1}
			switch p.Kind {
			case issue.Send:
				key.from, key.to = int32(r), p.Peer
			case issue.Recv:
				key.from, key.to = p.Peer, int32(r)
			}
			way := key
			way.turn = int32(p.Kind)
			key.turn = turns[way]
			turns[way]++
			if at[key] == nil {
				at[key] = &meeting{}
			}
			me := partOf{int32(r), int32(n)}
			m.meetings[me] = at[key]
			at[key].parts = append(at[key].parts, me)
		}
	}
	for key, meeting := range at {
		slices.SortStableFunc(meeting.parts, func(a, b partOf) int {
			if key.from >= 0 {
				return cmp.Compare(m.part(a).Kind, m.part(b).Kind)
			}
			team := m.p.Comms()[key.comm].Ranks
			return cmp.Compare(slices.Index(team, a.rank), slices.Index(team, b.rank))
		})
	}
}

// exchange moves the data of a meeting, once, when the first of its operations ends. By then all operations have begun, so their
// inputs are written. No operation has ended, so the inputs are unchanged.
func (m *machine) exchange(at *meeting) {
	if at.done || m.err != nil {
		return
	}
	at.done = true
	var in [][]float64
	for _, p := range at.parts {
		var data []float64
		if a := m.part(p).In; a >= 0 {
			data = m.view(m.p.Ranks[p.rank].Accesses[a]).read()
		}
		in = append(in, data)
	}
	for q, p := range at.parts {
		d := m.part(p)
		if d.Out < 0 {
			continue
		}
		out := m.view(m.p.Ranks[p.rank].Accesses[d.Out])
		data := m.received(d, in, int64(q))
		if want := len(out.read()); len(data) != want {
			m.fail(d.Stmt, "rank %d gets %d elements for %d", p.rank, len(data), want)
			return
		}
		out.write(data, d.Stmt)
	}
}

func (m *machine) part(p partOf) *unroll.Part { return &m.p.Ranks[p.rank].Parts[p.part] }

// received returns the data that part q of a meeting receives, or nil if there is none.
func (m *machine) received(d *unroll.Part, in [][]float64, q int64) []float64 {
	s, _ := m.p.Stmts[d.Stmt].(*calls.NcclCall)
	if d.Kind == issue.Recv {
		return in[0]
	}
	form := collective.Of(s.Kind).Form
	data, _ := form.Deliver(in, d.Count, q, int64(d.Root), collective.Arithmetic{Combine: m.f.binary(s.Fn)})
	return data
}
