package events

import (
	"github.com/hirgen/hirgen/lowering/prove/unroll"
)

// Sequential reports whether a call comes to its end on ranks that do one operation after the other, as the host
// issues them, and end each before the next one begins. Then nothing is stuck in any mode: in each of them, what
// an operation waits for is among what the host of its rank issued before it, and what other ranks write or bring,
// as here.
func Sequential(p *unroll.Program) bool {
	return newMachine(p, Options{Calls: 1}).inSequence()
}

// inSequence runs all calls in the order of issue, rank by rank as far as each gets; false: not all of it happens.
func (m *machine) inSequence() bool {
	for n := range m.ranks {
		m.tread(int32(n))
	}
	for len(m.work) > 0 {
		next := m.work[len(m.work)-1]
		m.work = m.work[:len(m.work)-1]
		m.ranks[next.rank].streams[next.stream].queued = false
		m.tread(next.rank)
	}
	for n := range m.ranks {
		if m.ranks[n].begun < int64(m.o.Calls)*int64(len(m.p.Ranks[n].Ops)) {
			return false
		}
	}
	return true
}

// tread runs operations of a rank up to one that cannot end. That one is under way, on its stream.
func (m *machine) tread(number int32) {
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

// step begins an operation behind all of its rank that was issued before.
func (m *machine) step(number int32, s *stream, op, call int32, o *unroll.Op) {
	m.enter(number, s, &s.one, op, call, o)
	if s.clock != nil && m.p.Calls.Graph && op > 0 && o.Stream != unroll.Caller {
		s.clock.merge(m.ranks[number].begins[call])
	}
	if o.Kind == unroll.Nccl {
		m.meet(number, s, &s.one, o)
	}
	s.under = append(s.under, &s.one)
}
