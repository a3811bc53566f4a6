package events

import (
	"github.com/hirgen/hirgen/calls/issue"
)

// flag is a flag with the writes to it so far.
type flag struct {
	writes  []written
	waiting []streamOf
}

type written struct {
	sequence int32
	clock    *Clock
}

func (m *machine) flag(s issue.Signal) *flag {
	return &m.flags[s.Owner*m.each+s.Flag]
}

// sequence returns the sequence number of a signal in a call.
func (m *machine) sequence(number int32, s issue.Signal, call int32) int32 {
	for i := range m.p.Shares {
		if d := &m.p.Shares[i]; s.Flag < d.FirstFlag+2*d.Transfers {
			return s.Sequence + call*m.p.Ranks[number].Begun[i]
		}
	}
	return s.Sequence
}

var zero = &written{}

// reached returns the first write of at least the given number; nil if there is none. A flag holds 0 before all writes.
func (f *flag) reached(sequence int32) *written {
	if sequence <= 0 {
		return zero
	}
	for i := range f.writes {
		if f.writes[i].sequence >= sequence {
			return &f.writes[i]
		}
	}
	return nil
}

func (f *flag) write(sequence int32, clock *Clock, m *machine) {
	if clock == nil && len(f.writes) > 0 {
		f.writes[0].sequence = max(f.writes[0].sequence, sequence) // without clocks only the largest number matters
	} else {
		f.writes = append(f.writes, written{sequence, clock})
	}
	for _, waiter := range f.waiting {
		m.notify(waiter)
	}
	f.waiting = nil
}
