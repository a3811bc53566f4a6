package issue

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// On returns the number of the stream that a statement names. It returns false after a fault.
func (r *Rank) On(s calls.Stmt, on calls.Stream) (int16, bool) {
	switch {
	case on.Index != nil:
		n, ok := r.Value(s, on.Index)
		if ok && (n < 0 || n >= int64(r.Calls.Streams)) {
			r.fault(s, BadValue, "there is no compute stream %d among %d", n, r.Calls.Streams)
			return 0, false
		}
		return r.compute(n), ok
	case on.Team:
		return r.carrier(on), true
	case on.Name == calls.Caller:
		return Caller, true
	}
	if n, ok := r.alias[on.Name]; ok {
		return n, true
	}
	if on.Name == calls.Copies {
		return r.stream(calls.Copies), true
	}
	r.fault(s, BadName, "no stream is called %q", on)
	return 0, false
}

// Event returns the number of an event, and the number of the stream that records it or waits for it. ok is false after
// a fault.
func (r *Rank) Event(s calls.Stmt, e calls.Event, on calls.Stream) (event int32, stream int16, ok bool) {
	set, known := r.events[e.Set]
	if !known {
		r.fault(s, BadName, "no events are called %s", e.Set)
		return 0, 0, false
	}
	n, ok := r.Value(s, e.Index)
	if !ok {
		return 0, 0, false
	}
	if n < 0 || n >= int64(set.count) {
		r.fault(s, BadValue, "there is no event %d among %d of %s", n, set.count, e.Set)
		return 0, 0, false
	}
	stream, ok = r.On(s, on)
	return set.first + int32(n), stream, ok
}

// Signal is a flag that an operation waits for or writes. Sequence is its sequence number: how many calls of the share
// have begun.
type Signal struct {
	Owner    int32 // rank in whose memory the flag is
	Flag     int32 // number of the flag: see Share
	Sequence int32 // 0: the call of the share has not begun
	Write    bool
}

// Begin begins a call of a share. It returns the numbers of the share and of all shares whose calls are counted now. It
// returns false if a share is not declared.
func (r *Rank) Begin(s *calls.BeginCall) (share int32, counted []int32, ok bool) {
	if share, ok = r.share(s, s.Share); !ok {
		return share, nil, false
	}
	r.started[share] = true
	if !r.KernelsCount || r.Shares[share].Declared.Rows != nil {
		counted = append(counted, share)
	}
	for _, name := range s.Counts {
		other, known := r.share(s, name)
		switch {
		case !known:
			return share, nil, false
		case !r.started[other]:
			r.fault(s, BadName, "a kernel counts the call of %s, which has not begun", name)
			return share, nil, false
		case slices.Contains(counted, other):
			r.fault(s, BadName, "threads of one kernel count the call of %s twice", name)
			return share, nil, false
		}
		counted = append(counted, other)
	}
	for _, c := range counted {
		r.Begun[c]++
	}
	return share, counted, true
}

// Signal resolves a flag. With a peer, it is a flag in the peer's memory, which this rank writes. Otherwise it is a
// flag of this rank, which waits for it. ok is false after a fault.
func (r *Rank) Signal(s calls.Stmt, f calls.Flag, peer expr.Expr) (signal Signal, share int32, ok bool) {
	share, ok = r.share(s, f.Share)
	if !ok {
		return signal, share, false
	}
	owner := r.Number
	if peer != nil {
		if owner, ok = r.peer(s, peer, share); !ok {
			return signal, share, false
		}
	}
	d := &r.Shares[share]
	n, ok := r.Value(s, f.Transfer)
	if ok && (n < 0 || n >= int64(d.Transfers)) {
		r.fault(s, BadValue, "there is no transfer %d among %d", n, d.Transfers)
		return signal, share, false
	}
	number := d.FirstFlag + int32(n)
	if f.Done {
		number += d.Transfers
	}
	return Signal{owner, number, r.Begun[share], peer != nil}, share, ok
}

// Exchange calls add for the two flags of a Transfer or a PeerPart: this rank's ready flag, for which the statement
// waits, and the peer's done flag, which it writes.
func (r *Rank) Exchange(s calls.Stmt, share string, peer, transfer expr.Expr, add func(Signal, int32)) {
	for _, f := range []calls.Flag{{Share: share, Transfer: transfer}, {Share: share, Transfer: transfer, Done: true}} {
		var owner expr.Expr
		if f.Done {
			owner = peer
		}
		if signal, share, ok := r.Signal(s, f, owner); ok {
			add(signal, share)
		}
	}
}
