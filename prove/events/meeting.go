package events

import (
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// meetOf identifies a meeting: a collective by communicator and turn, a message also by sender and receiver.
type meetOf struct{ comm, from, to, turn int32 }

// meeting is one collective or one message, in which the parts of several ranks meet.
type meeting struct {
	arrived, wanted int32
	sent            *Clock // merged clocks of the parts that send; with a Watcher, of all parts
	merged          bool   // sent is merged from several clocks, and belongs to this meeting alone
	waiting         []streamOf
}

func (m *meeting) complete() bool { return m.arrived >= m.wanted }

// meet adds the parts of an NCCL call to their meetings.
func (m *machine) meet(number int32, s *stream, run *running, o *unroll.Op) {
	r := &m.ranks[number]
	var begun *Clock
	if m.o.Known != nil && m.o.clocks() {
		run.clock = s.clock.with(number, run.thread, r.threads[run.thread])
		if begun = run.clock; m.o.Watcher != nil {
			begun = s.clock.with(number, run.thread, r.threads[run.thread]+1)
		}
	}
	for _, part := range m.p.Ranks[number].PartsOf(o) {
		key, wanted := m.meeting(number, r, part)
		at := m.meets[key]
		if at == nil {
			at = &meeting{wanted: wanted}
			m.meets[key] = at
		}
		at.arrive(m, part, begun)
		run.meetings = append(run.meetings, at)
		if at.complete() {
			delete(m.meets, key)
		}
	}
}

// meeting returns the key of a part's next meeting, and the number of parts that it needs.
func (m *machine) meeting(number int32, r *rank, p unroll.Part) (meetOf, int32) {
	key, wanted := placeOf(number, p), int32(2)
	if p.Kind == issue.Collective {
		wanted = int32(len(m.p.Comms()[p.Comm].Ranks))
	}
	way := key
	way.turn = int32(p.Kind) // a rank that sends to itself also receives
	key.turn = r.turns[way]
	r.turns[way]++
	return key, wanted
}

// placeOf returns the key of a part's meeting, without its turn.
func placeOf(number int32, p unroll.Part) meetOf {
	switch p.Kind {
	case issue.Send:
		return meetOf{p.Comm, number, p.Peer, 0}
	case issue.Recv:
		return meetOf{p.Comm, p.Peer, number, 0}
	}
	return meetOf{p.Comm, -1, -1, 0}
}

func (m *meeting) arrive(on *machine, p unroll.Part, begun *Clock) {
	m.arrived++
	if begun != nil && (on.o.Watcher != nil || p.In >= 0 || p.Kind == issue.Send) {
		m.add(begun, on)
	}
	if m.complete() {
		for _, waiter := range m.waiting {
			on.notify(waiter)
		}
		m.waiting = nil
	}
}

// add merges the clock with which a part began. The meeting keeps the first clock itself, so a message, which has one sender,
// needs no copy.
func (m *meeting) add(begun *Clock, on *machine) {
	if m.sent == nil {
		m.sent = begun
		return
	}
	if !m.merged {
		if on.all == nil {
			on.all = All(on.p)[0]
		}
		sum := &Clock{on.all, make([]*part, len(on.all))}
		sum.merge(m.sent)
		m.sent, m.merged = sum, true
	}
	m.sent.merge(begun)
}

// acquire merges the senders' clock into the clock of a part that receives, or of any part if all is set.
func (m *meeting) acquire(clock *Clock, p unroll.Part, all bool) {
	if all || p.Out >= 0 || p.Kind == issue.Recv {
		clock.merge(m.sent)
	}
}
