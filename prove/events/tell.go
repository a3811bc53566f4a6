package events

import (
	"github.com/hirgen/hirgen/prove/unroll"
)

// tell updates the clocks, and calls the observers. Afterwards run.clock covers the ended
// operation, or is nil if no later operation needs it.
func (m *machine) tell(s *stream, run *running, at Point, o *unroll.Op) {
	r, clock := &m.ranks[at.Rank], s.clock
	if o.Lane > 0 {
		clock = run.clock
	}
	behind := run.clock
	if o.Kind != unroll.Nccl || behind == nil {
		behind = clock
	}
	var begun, needed *Clock
	if m.o.Watcher != nil && o.Spins {
		begun = behind.with(at.Rank, at.Thread, at.Epoch-1)
	}
	m.acquire(at.Rank, clock, run, o)
	if begun != nil {
		needed = clock.copied()
	}
	if m.o.Watcher != nil {
		m.o.Watcher.Ended(at, begun, needed)
	}
	if m.o.Observer != nil && o.Accesses.First < o.Accesses.End {
		m.o.Observer.Accesses(at, behind)
	}
	run.clock = nil
	if o.Lane > 0 || o.Waits > 0 || m.p.Calls.Graph || m.writesFlag(at.Rank, o) {
		run.clock = clock.with(at.Rank, at.Thread, at.Epoch)
	}
	if o.Waits > 0 {
		r.records[inCall{at.Op, at.Call}] = &record{run.clock, o.Waits}
	}
	if o.Lane > 0 {
		s.clock.merge(run.clock)
	}
	if m.p.Calls.Graph {
		r.whole.merge(run.clock)
		if o.Kind == unroll.CallBegin {
			r.begins = append(r.begins, run.clock)
		}
	}
}

// writesFlag reports whether an operation writes a flag.
func (m *machine) writesFlag(rank int32, o *unroll.Op) bool {
	for _, s := range m.p.Ranks[rank].SignalsOf(o) {
		if s.Write {
			return true
		}
	}
	return false
}

// acquire merges into a clock everything that an ended operation has waited for: its event, flags, meetings or
// captured call.
func (m *machine) acquire(number int32, clock *Clock, run *running, o *unroll.Op) {
	r := &m.ranks[number]
	switch {
	case o.Kind == unroll.Wait && o.Arg >= 0:
		of := inCall{o.Arg, run.call}
		recorded := r.records[of]
		clock.merge(recorded.clock)
		if recorded.left == 1 {
			delete(r.records, of)
		} else if recorded.left < unroll.Many {
			recorded.left--
		}
	case o.Kind == unroll.CallEnd && m.p.Calls.Graph:
		clock.merge(r.whole)
	}
	for _, s := range m.p.Ranks[number].SignalsOf(o) {
		if !s.Write {
			clock.merge(m.flag(s).reached(m.sequence(number, s, run.call)).clock)
		}
	}
	if m.o.Known != nil {
		for i, part := range m.p.Ranks[number].PartsOf(o) {
			run.meetings[i].acquire(clock, part, m.o.Watcher != nil)
		}
	}
}
