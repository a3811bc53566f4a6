package interp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

// part is the contribution of one rank to an NCCL call, with its memory.
type part struct {
	rank    *rank
	call    *calls.NcclCall
	team    []int32 // world ranks; the sender and the receiver for a send or a recv
	in, out place
	issue.Part
}

// pairing identifies a sequence of meetings: the collectives of a communicator (from and to are -1), or the messages
// from one of its ranks to another.
type pairing struct{ comm, from, to int32 }

// turn identifies a meeting of a pairing: number counts its meetings from 0.
type turn struct {
	of     pairing
	number int
}

// meeting collects the parts of all ranks in one call. Its task runs when every member of the team has reached the
// call.
type meeting struct {
	team  []int32
	parts []*part
	task  *tasks.Task
}

// nccl issues an NCCL call, or a group of calls.
func (r *rank) nccl(s calls.Stmt) error {
	switch s := s.(type) {
	case *calls.NcclGroup:
		r.grouped, r.group = true, nil
		r.walk.Run(s.Body, r.visit)
		if r.grouped = false; r.err != nil {
			return r.err
		}
		return r.start(s, s.On, r.group)
	case *calls.NcclCall:
		parts, err := r.partsOf(s)
		if err != nil {
			return err
		}
		if !r.grouped {
			return r.start(s, s.On, parts)
		}
		r.group = append(r.group, parts...)
	}
	return nil
}

// start issues parts on a stream: one task that begins them, a meeting for each, and one task that ends them.
func (r *rank) start(s calls.Stmt, stream calls.Stream, parts []*part) error {
	on, err := r.on(s, stream)
	if err != nil {
		return err
	}
	for _, p := range parts {
		r.uses(r, p.call.Team)
	}
	begin := r.issue(s, on, nil)
	var meetings []*tasks.Task
	for _, p := range parts {
		meetings = append(meetings, r.join(p, on).task)
	}
	for _, t := range meetings {
		t.Follow(begin)
	}
	r.communicates(begin, r.issue(s, on, nil, meetings...))
	return nil
}

// join adds a part to its meeting. The first part makes the meeting.
func (r *rank) join(p *part, on *tasks.Stream) *meeting {
	of := pairing{p.Comm, -1, -1}
	if p.Kind != issue.Collective {
		of.from, of.to = p.team[0], p.team[1]
	}
	own := of
	if p.Kind == issue.Recv { // counted apart from sends, because a rank may send to itself
		own.comm = -1 - own.comm
	}
	id := turn{of, r.turns[own]}
	r.turns[own]++
	m := r.machine.meetings[id]
	if m == nil {
		m = &meeting{team: p.team}
		m.task = r.machine.tasks.Add(-1, p.call, on, m.exchange)
		r.machine.meetings[id] = m
		r.machine.order = append(r.machine.order, m)
	}
	m.parts = append(m.parts, p)
	return m
}

// match blocks a meeting that some rank never reaches. It is an error if ranks meet in different calls.
func (m *meeting) match() error {
	first := m.parts[0]
	for _, p := range m.parts[1:] {
		kinds := p.call.Kind == first.call.Kind || len(m.team) == 2 && p.pair() && first.pair()
		if !kinds || p.Count != first.Count || p.call.Type != first.call.Type || p.call.Fn != first.call.Fn || p.Root != first.Root {
			return fmt.Errorf("ranks %d and %d meet in different calls: %s and %s",
				first.rank.number, p.rank.number, text.Statement(first.call), text.Statement(p.call))
		}
	}
	if len(m.parts) < len(m.team) {
		m.task.Block()
	}
	return nil
}

func (p *part) pair() bool { return p.call.Kind == "send" || p.call.Kind == "recv" }

// partsOf makes this rank's parts of a call.
func (r *rank) partsOf(s *calls.NcclCall) ([]*part, error) {
	in, err := r.at(s, s.In)
	if err != nil {
		return nil, err
	}
	out, err := r.at(s, s.Out)
	if err != nil {
		return nil, err
	}
	var list []*part
	for _, p := range r.walk.Parts(s) {
		team := r.machine.world.Comms()[p.Comm].Ranks
		switch p.Kind {
		case issue.Send:
			team = []int32{int32(r.number), p.Peer}
		case issue.Recv:
			team = []int32{p.Peer, int32(r.number)}
		}
		list = append(list, &part{r, s, team, in, out, p})
	}
	return list, r.err
}

// exchange moves the data of a meeting. Every input is read before any output is written.
func (m *meeting) exchange() error {
	parts := slices.Clone(m.parts)
	slices.SortStableFunc(parts, func(a, b *part) int {
		at := func(p *part) int { return slices.Index(m.team, int32(p.rank.number)) }
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Kind, b.Kind))
	})
	call := parts[0].call
	if parts[0].Kind != issue.Collective {
		return pass(parts[0], parts[1], parts[0].Count)
	}
	in := make([][]float64, len(parts))
	for q, p := range parts {
		if p.Sent < 0 {
			continue
		}
		memory, err := p.rank.run(p.call, p.in, p.Sent)
		if err != nil {
			return err
		}
		in[q] = slices.Clone(memory)
	}
	for q, p := range parts {
		if p.Stored < 0 {
			continue
		}
		out, err := p.rank.run(p.call, p.out, p.Stored)
		if err != nil {
			return err
		}
		data, err := collective.Of(call.Kind).Deliver(in, p.Count, int64(q), int64(p.Root), collective.InFP32(call.Fn, call.Type))
		if err != nil {
			return p.rank.fail(call, "%v", err)
		}
		copy(out, data)
	}
	return nil
}

// pass copies the data of a send into the memory of its receive.
func pass(from, to *part, count int64) error {
	source, err := from.rank.run(from.call, from.in, count)
	if err != nil {
		return err
	}
	target, err := to.rank.run(to.call, to.out, count)
	copy(target, source)
	return err
}
