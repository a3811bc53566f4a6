package events

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// Deadlock is a chain of operations, each of which waits for the next. The last one waits for the first one, or for something
// that never happens.
type Deadlock struct {
	Links  []Link
	Closed bool // the last one waits for the first one
}

// Link is an operation, and the reason why it does not begin or end.
type Link struct {
	Rank, Op, Call int32
	Why            string // "waits for the event of:"; the next link continues the sentence
}

// deadlock returns the chain that begins at the first stuck operation; nil if no operation is stuck.
func (m *machine) deadlock() *Deadlock {
	for n := range m.ranks {
		for i := range m.ranks[n].streams {
			s := &m.ranks[n].streams[i]
			if len(s.under) == 0 && s.at == m.o.Calls*len(s.ops) {
				continue
			}
			return m.chain(m.head(int32(n), s))
		}
	}
	return nil
}

// head returns the first operation of a stream that has not ended.
func (m *machine) head(number int32, s *stream) Link {
	if len(s.under) > 0 {
		return Link{Rank: number, Op: s.under[0].op, Call: s.under[0].call}
	}
	return Link{Rank: number, Op: s.ops[s.at%len(s.ops)], Call: int32(s.at / len(s.ops))}
}

func (m *machine) chain(at Link) *Deadlock {
	d := &Deadlock{}
	for {
		for i, link := range d.Links {
			if link.Rank == at.Rank && link.Op == at.Op && link.Call == at.Call {
				d.Links, d.Closed = d.Links[i:], true
				return d
			}
		}
		next, why, ok := m.blocker(at)
		at.Why = why
		d.Links = append(d.Links, at)
		if !ok {
			return d
		}
		at = next
	}
}

// blocker returns the operation for which the given operation waits, and why it waits. ok is false if there is none, so
// that the wait never ends.
func (m *machine) blocker(at Link) (next Link, why string, ok bool) {
	r := &m.ranks[at.Rank]
	o := &m.p.Ranks[at.Rank].Ops[at.Op]
	s := &r.streams[o.Stream]
	running := slices.IndexFunc(s.under, func(run *running) bool { return run.op == at.Op && run.call == at.Call })
	if running < 0 {
		if head := m.head(at.Rank, s); head.Op != at.Op || head.Call != at.Call {
			return head, "comes on its stream behind:", true
		}
		if before, held := r.after[at.Op]; held && !m.hasEnded(at.Rank, before, callOf(before, at.Op, at.Call)) {
			return Link{Rank: at.Rank, Op: before, Call: callOf(before, at.Op, at.Call)}, "was issued behind this other communication:", true
		}
		if r.loading(at.Op, at.Call) {
			return m.unended(at), "is issued once a kernel is loaded, for which the host waits for:", true
		}
		ops := int64(len(r.ended))
		if mine := int64(at.Call)*ops + int64(at.Op); m.o.Mode == OneQueue && r.begun < mine {
			return Link{Rank: at.Rank, Op: int32(r.begun % ops), Call: int32(r.begun / ops)},
				"was issued, into the one hardware queue, behind:", true
		}
	}
	switch o.Kind {
	case unroll.Wait:
		return Link{Rank: at.Rank, Op: o.Arg, Call: at.Call}, "waits for the event of:", true
	case unroll.CallEnd:
		return m.unfinished(at)
	case unroll.Nccl:
		if running >= 0 {
			return m.absent(at, s.under[running], o)
		}
	}
	return m.unwritten(at, o)
}

// unended returns the operation that holds up the issue of the given operation in mode Loading. It is the first one, in
// the order of issue, that has not ended and comes before the kernel that the host is about to load.
func (m *machine) unended(at Link) Link {
	r := &m.ranks[at.Rank]
	op := int32(slices.IndexFunc(r.ended[:r.kernels[at.Op]], func(calls int32) bool { return calls <= at.Call }))
	return Link{Rank: at.Rank, Op: op, Call: at.Call}
}

// unwritten finds an operation that would write the flag for which the given operation waits, but has not ended. ok is
// false if there is none.
func (m *machine) unwritten(at Link, o *unroll.Op) (next Link, why string, ok bool) {
	for _, s := range m.p.Ranks[at.Rank].SignalsOf(o) {
		wanted := m.sequence(at.Rank, s, at.Call)
		if s.Write || m.flag(s).reached(wanted) != nil {
			continue
		}
		name := m.p.FlagName(s.Owner, s.Flag)
		for n := range m.p.Ranks {
			for op := range m.p.Ranks[n].Ops {
				for _, other := range m.p.Ranks[n].SignalsOf(&m.p.Ranks[n].Ops[op]) {
					if other.Write && other.Owner == s.Owner && other.Flag == s.Flag && m.ranks[n].ended[op] <= at.Call {
						return Link{Rank: int32(n), Op: int32(op), Call: at.Call}, "waits for the flag " + name + ", set by:", true
					}
				}
			}
		}
		return next, fmt.Sprintf("waits for the flag %s to reach %d, which nobody writes", name, wanted), false
	}
	return next, "is never reached", false
}

// absent finds an operation of another rank that has to begin before the given NCCL call can end, and has not begun. ok
// is false if there is no such operation.
func (m *machine) absent(at Link, run *running, o *unroll.Op) (next Link, why string, ok bool) {
	for i, part := range m.p.Ranks[at.Rank].PartsOf(o) {
		if run.meetings[i].complete() {
			continue
		}
		ranks := []int32{part.Peer}
		if part.Kind == issue.Collective {
			ranks = m.p.Comms()[part.Comm].Ranks
		}
		turn := m.turnOf(at, part)
		for _, other := range ranks {
			op, call, found := m.partOf(other, at.Rank, part, turn)
			switch {
			case !found:
				return next, fmt.Sprintf("meets rank %d, which makes no such call of %s", other, m.p.Library(part)), false
			case !m.arrived(other, op, call):
				return Link{Rank: other, Op: op, Call: call}, fmt.Sprintf("meets rank %d, at:", other), true
			}
		}
	}
	return next, "meets others that never come", false
}

// turnOf returns the index of a part among the parts of a rank with the same kind and key, over all calls, from 0.
func (m *machine) turnOf(at Link, p unroll.Part) int32 {
	before, all := int32(0), int32(0)
	place := placeOf(at.Rank, p)
	for op := range m.p.Ranks[at.Rank].Ops {
		for _, other := range m.p.Ranks[at.Rank].PartsOf(&m.p.Ranks[at.Rank].Ops[op]) {
			if other.Kind == p.Kind && placeOf(at.Rank, other) == place {
				if all++; int32(op) < at.Op {
					before++
				}
			}
		}
	}
	return at.Call*all + before
}

// partOf finds the operation, and its call, with which another rank takes part in the meeting of part p of the rank with
// the given number. ok is false if no call that the machine runs has such an operation.
func (m *machine) partOf(other, number int32, p unroll.Part, turn int32) (op, call int32, ok bool) {
	var list []int32
	kind := map[issue.PartKind]issue.PartKind{issue.Send: issue.Recv, issue.Recv: issue.Send}[p.Kind]
	place := placeOf(number, p)
	for i := range m.p.Ranks[other].Ops {
		for _, part := range m.p.Ranks[other].PartsOf(&m.p.Ranks[other].Ops[i]) {
			if part.Kind == kind && placeOf(other, part) == place {
				list = append(list, int32(i))
			}
		}
	}
	if len(list) == 0 {
		return 0, 0, false
	}
	if call = turn / int32(len(list)); call >= int32(m.o.Calls) {
		return 0, 0, false
	}
	return list[turn%int32(len(list))], call, true
}

// arrived reports whether an operation has begun in a call.
func (m *machine) arrived(number, op, call int32) bool {
	s := &m.ranks[number].streams[m.p.Ranks[number].Ops[op].Stream]
	at, _ := slices.BinarySearch(s.ops, op)
	return int(call)*len(s.ops)+at < s.at
}

// unfinished finds an operation of a captured call that has not ended. The end of the call waits for it.
func (m *machine) unfinished(at Link) (next Link, why string, ok bool) {
	for op, calls := range m.ranks[at.Rank].ended {
		if calls <= at.Call && int32(op) != at.Op {
			return Link{Rank: at.Rank, Op: int32(op), Call: at.Call}, "waits for all of the captured call, and so for:", true
		}
	}
	return next, "is never reached", false
}
