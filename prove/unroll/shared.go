package unroll

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// beginCall counts a call of a share. In a captured program a kernel on the caller's stream counts it, in memory that all kernels
// with flags of the share read.
func (i *issue) beginCall(s *calls.BeginCall) {
	share, ok := i.share(s, s.Share)
	if !ok {
		return
	}
	i.rank.Begun[share]++
	o := i.begin(s, Begin, Caller)
	o.Arg = share
	i.counting(share, true)
	i.end(o)
}

// counting adds an access to the counter of a share, if it has one.
func (i *issue) counting(share int32, write bool) {
	if counter := i.out.Shares[share].Counter; counter >= 0 {
		i.byte(Counting, write, counter)
	}
}

// shared issues statements that use flags and the memory of peers.
func (i *issue) shared(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.FlagWrite:
		i.flags(s, s.On, false, []calls.Stmt{s})
	case *calls.FlagWait:
		i.flags(s, s.On, s.Kernel, []calls.Stmt{s})
	case *calls.MemOpBatch:
		if s.Use == "copy" {
			i.lanes(s)
		} else {
			i.flags(s, s.On, s.Kernel && s.Use == "wait", s.Body)
		}
	case *calls.Transfer:
		i.transfer(s, s.On, 0)
	case *calls.PeerSum:
		i.peerSum(s)
	}
}

// flags issues flag operations as one operation.
func (i *issue) flags(s calls.Stmt, stream calls.Stream, spins bool, body []calls.Stmt) {
	on, ok := i.on(s, stream)
	if !ok {
		return
	}
	before := len(i.rank.Ops)
	o := i.begin(s, Flags, on)
	o.Spins = spins
	i.inside(body, func(part calls.Stmt) {
		switch part := part.(type) {
		case *calls.FlagWrite:
			i.signal(part, part.Flag, part.Peer, true)
		case *calls.FlagWait:
			i.signal(part, part.Flag, nil, false)
		default:
			i.fault(part, Misplaced, "it is no part of what it stands in")
		}
	})
	o = &i.rank.Ops[before]
	if i.end(o); o.Signals.First == o.Signals.End {
		i.rank.Ops = i.rank.Ops[:before] // an empty batch is not submitted
	}
}

// signal adds a flag: a peer's flag to write, or this rank's flag to wait for.
func (i *issue) signal(s calls.Stmt, f calls.Flag, peer expr.Expr, write bool) {
	share, ok := i.share(s, f.Share)
	if !ok {
		return
	}
	owner := i.number
	if write {
		if owner, ok = i.peer(s, peer, share); !ok {
			return
		}
	}
	d := &i.out.Shares[share]
	n, ok := i.value(s, f.Transfer)
	if !ok {
		return
	}
	if n < 0 || n >= int64(d.Transfers) {
		i.fault(s, BadValue, "there is no transfer %d among %d", n, d.Transfers)
		return
	}
	number := d.FirstFlag + int32(n)
	if f.Done {
		number += d.Transfers
	}
	i.counting(share, false)
	i.rank.Signals = append(i.rank.Signals, Signal{owner, number, i.rank.Begun[share], write})
}

// exchange adds the flags of a copy by SMs: it waits for ready, and writes the peer's done.
func (i *issue) exchange(s calls.Stmt, share string, peer, transfer expr.Expr) {
	i.signal(s, calls.Flag{Share: share, Transfer: transfer}, nil, false)
	i.signal(s, calls.Flag{Share: share, Transfer: transfer, Done: true}, peer, true)
}

// transfer issues a copy by SMs.
func (i *issue) transfer(s *calls.Transfer, stream calls.Stream, lane uint16) {
	on, ok := i.on(s, stream)
	if !ok {
		return
	}
	o := i.begin(s, Transfer, on)
	o.Spins, o.Lane = true, lane
	i.exchange(s, s.Share, s.Peer, s.Transfer)
	i.operands(s)
	i.end(o)
}

// lanes issues a batch of copies: one kernel whose blocks run each copy as soon as its flag is ready.
func (i *issue) lanes(s *calls.MemOpBatch) {
	lane := uint16(0)
	i.inside(s.Body, func(part calls.Stmt) {
		if t, ok := part.(*calls.Transfer); ok {
			lane++
			i.transfer(t, s.On, lane)
			return
		}
		i.fault(part, Misplaced, "it is no part of what it stands in")
	})
	if on, ok := i.on(s, s.On); ok && lane > 0 {
		i.end(i.begin(s, Join, on))
	}
}

// peerSum issues a sum that reads, or writes, the memory of peers.
func (i *issue) peerSum(s *calls.PeerSum) {
	on, ok := i.on(s, s.On)
	if !ok {
		return
	}
	before := len(i.rank.Ops)
	o := i.begin(s, PeerSum, on)
	o.Spins = true
	i.operands(s)
	operand := int16(effects.Own)
	i.inside(s.Body, func(part calls.Stmt) {
		p, ok := part.(*calls.PeerPart)
		if !ok {
			i.fault(part, Misplaced, "it is no part of what it stands in")
			return
		}
		operand++
		if n, ok := i.value(p, p.Elements); ok {
			i.run(p, operand, p.Store, p.At, s.Type.Size(), n)
			i.ownPart(p)
		}
		i.exchange(p, p.Share, p.Peer, p.Transfer)
	})
	i.end(&i.rank.Ops[before])
}

// ownPart checks that a part is in the memory of the rank that it names. Parts are matched by rank.
func (i *issue) ownPart(p *calls.PeerPart) {
	peer, known := i.value(p, p.Peer)
	if at, ok := i.at(p, p.At); ok && known && int64(at.owner) != peer {
		i.fault(p, Misplaced, "it is in the memory of rank %d, and called that of rank %d", at.owner, peer)
	}
}
