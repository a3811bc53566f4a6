package events

import (
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// Sequential reports whether a call ends if ranks run their operations in the order of issue, and end each before they
// begin the next. Then no mode gets stuck, because an operation waits for no more in any mode than in this run. It
// waits for earlier operations of its rank, and for flags and NCCL parts of other ranks.
func Sequential(p *unroll.Program) bool {
	return newMachine(p, Options{Calls: 1}).inSequence()
}

// inSequence runs all calls in the order of issue, each rank as far as it gets. It reports whether all operations end.
func (m *machine) inSequence() bool {
	for n := range m.ranks {
		m.runUntilBlocked(int32(n))
	}
	for len(m.work) > 0 {
		next := m.work[len(m.work)-1]
		m.work = m.work[:len(m.work)-1]
		m.ranks[next.rank].streams[next.stream].queued = false
		m.runUntilBlocked(next.rank)
	}
	for n := range m.ranks {
		if m.ranks[n].begun < int64(m.o.Calls)*int64(len(m.p.Ranks[n].Ops)) {
			return false
		}
	}
	return true
}

// runUntilBlocked runs the operations of a rank up to one that cannot end. That operation stays running on its stream.
func (m *machine) runUntilBlocked(number int32) {
	r, ops := &m.ranks[number], m.p.Ranks[number].Ops
	for end := int64(m.o.Calls) * int64(len(ops)); r.begun < end; r.begun++ {
		op := int32(r.begun % int64(len(ops)))
		o := &ops[op]
		s := &r.streams[o.Stream]
		if len(s.under) == 0 {
			m.step(number, s, op, int32(r.begun/int64(len(ops))), o)
		}
		if !m.there(number, s.under[0], o) {
			return
		}
		m.end(number, s, s.under[0], o)
		s.under = s.under[:0]
	}
}

// step begins an operation after all operations of its rank that were issued before.
func (m *machine) step(number int32, s *stream, op, call int32, o *unroll.Op) {
	m.enter(number, s, &s.one, op, call, o)
	if s.clock != nil && m.p.Calls.Graph && op > 0 && o.Stream != issue.Caller {
		s.clock.merge(m.ranks[number].begins[call])
	}
	if o.Kind == unroll.Nccl {
		m.meet(number, s, &s.one, o)
	}
	s.under = append(s.under, &s.one)
}
