package unroll

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// beginCall begins a call of a share. In a captured program a kernel on the caller's stream counts calls, in memory that all kernels
// with flags of these shares read.
func (i *issuing) beginCall(s *calls.BeginCall) {
	share, counted, ok := i.Begin(s)
	if !ok {
		return
	}
	o := i.begin(s, Begin, issue.Caller)
	o.Arg = share
	for _, c := range counted {
		i.counting(c, true)
	}
	i.end(o)
}

// counting adds an access to the counter of a share, if it has one.
func (i *issuing) counting(share int32, write bool) {
	if counter := i.Shares[share].Counter; counter >= 0 {
		i.byte(Counting, write, counter)
	}
}

// shared issues a statement that uses the flags of a share: a flag write or wait, a transfer, or a sum that reads or writes
// the memory of peers. It also issues batches of these and of copies.
func (i *issuing) shared(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.FlagWrite:
		i.flags(s, s.On, false, []calls.Stmt{s})
	case *calls.FlagWait:
		i.flags(s, s.On, s.Kernel, []calls.Stmt{s})
	case *calls.MemOpBatch:
		if s.Use == "copy" || s.Use == "memcpy" {
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
func (i *issuing) flags(s calls.Stmt, stream calls.Stream, spins bool, body []calls.Stmt) {
	on, ok := i.On(s, stream)
	if !ok {
		return
	}
	before := len(i.rank.Ops)
	o := i.begin(s, Flags, on)
	o.Spins = spins
	i.Run(body, func(part calls.Stmt) {
		switch part := part.(type) {
		case *calls.FlagWrite:
			i.signal(part, part.Flag, part.Peer)
		case *calls.FlagWait:
			i.signal(part, part.Flag, nil)
		default:
			i.misplaced(part)
		}
	})
	o = &i.rank.Ops[before]
	if i.end(o); o.Signals.First == o.Signals.End {
		i.rank.Ops = i.rank.Ops[:before] // an empty batch is not submitted
	}
}

// signal adds a flag: a peer's flag to write, or this rank's flag to wait for.
func (i *issuing) signal(s calls.Stmt, f calls.Flag, peer expr.Expr) {
	if signal, share, ok := i.Signal(s, f, peer); ok {
		i.adds(signal, share)
	}
}

func (i *issuing) adds(signal issue.Signal, share int32) {
	i.counting(share, false)
	i.rank.Signals = append(i.rank.Signals, signal)
}

// transfer issues a copy by SMs.
func (i *issuing) transfer(s *calls.Transfer, stream calls.Stream, lane uint16) {
	on, ok := i.On(s, stream)
	if !ok {
		return
	}
	o := i.begin(s, Transfer, on)
	o.Spins, o.Lane = true, lane
	i.Exchange(s, s.Share, s.Peer, s.Transfer, i.adds)
	i.operands(s)
	i.end(o)
}

// lanes issues a batch of copies: one kernel whose blocks run each copy at once or, for a transfer, as soon as its flag is
// ready.
func (i *issuing) lanes(s *calls.MemOpBatch) {
	lane := uint16(0)
	i.Run(s.Body, func(part calls.Stmt) {
		switch part := part.(type) {
		case *calls.Transfer:
			lane++
			i.transfer(part, s.On, lane)
		case *calls.Memcpy:
			lane++
			i.work(part, Copy, s.On, lane)
		default:
			i.misplaced(part)
		}
	})
	if on, ok := i.On(s, s.On); ok && lane > 0 {
		i.end(i.begin(s, Join, on))
	}
}

// peerSum issues a sum that reads, or writes, the memory of peers.
func (i *issuing) peerSum(s *calls.PeerSum) {
	on, ok := i.On(s, s.On)
	if !ok {
		return
	}
	before := len(i.rank.Ops)
	o := i.begin(s, PeerSum, on)
	o.Spins = true
	i.operands(s)
	operand := int16(effects.Own)
	i.Run(s.Body, func(part calls.Stmt) {
		p, ok := part.(*calls.PeerPart)
		if !ok {
			i.misplaced(part)
			return
		}
		operand++
		if n, ok := i.Value(p, p.Elements); ok {
			i.run(p, operand, p.Store, p.At, s.Type, n)
			i.ownPart(p)
		}
		i.Exchange(p, p.Share, p.Peer, p.Transfer, i.adds)
	})
	i.end(&i.rank.Ops[before])
}

// ownPart checks that a part is in the memory of the rank that it names. Parts are matched by rank.
func (i *issuing) ownPart(p *calls.PeerPart) {
	peer, known := i.Value(p, p.Peer)
	if at, ok := i.At(p, p.At); ok && known && int64(at.Owner) != peer {
		i.fault(p, issue.Misplaced, "it is in the memory of rank %d, and called that of rank %d", at.Owner, peer)
	}
}
