package passes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// mostExchanging is the most ranks that exchange rows in one kernel (RowExchange::kMostPeers, and this rank).
const mostExchanging = 16

// mostGathered is the most bytes of a part that a kernel exchanges for other statements. With 2 MB it is 1.03 times as fast as kernels of
// the copy stream, and with 4 MB 0.88 times (2 x H200).
const mostGathered = 2 << 20

// exchangeInKernels merges a kernel and the transfers that only it waits for, if kernels of the copy stream run these transfers. Every
// rank sends a part to each rank, and the kernel reads the parts that arrive. A kernel takes microseconds to start and to end, and a row
// of the results needs only the same row of all parts.
//
//	MemOpBatch(use write):  For(var s, first 1, count D): FlagWrite(ready)     Exchange(name parts, rows M):
//	For(var s, first 1, count D): Transfer(out ipc[to] + rank * M * N, in P)     For(...): FlagWrite(ready, batch parts, on caller)
//	Memcpy(out parts_ + rank * M * N, in P)                                ->    For(...): Transfer(..., batch parts, on caller)
//	MemOpBatch(use wait):   For(var s, first 1, count D): FlagWait(done)         Memcpy(..., batch parts, on caller)
//	Launch(kernel add, a parts_, b parts_ + M * N)                               For(...): FlagWait(done, batch parts, on caller)
//	                                                                             Launch(..., batch parts, on caller)
//
// Transfers whose parts other statements read become such a kernel, too, which computes nothing.
//
// It leaves transfers alone that other work hides: nothing but flags and copies of the same kind is between them and their end.
func exchangeInKernels(p *calls.Program) {
	if calls.AsksForNodes(p.Body) {
		return
	}
	m := &exchangeMaker{p: p, names: names.NewTable()}
	for i := 0; i < len(p.Body); i++ {
		if l, ok := p.Body[i].(*calls.Launch); ok {
			i = m.merge(l, i)
		}
	}
	for _, share := range p.Shares {
		m.gather(share)
	}
	if m.merged {
		m.dropWaits()
	}
}

// exchangeMaker merges the kernels of a program with their transfers.
type exchangeMaker struct {
	p       *calls.Program
	names   *names.Table
	at      int             // index of the kernel in question; -1: there is none
	of      map[string]bool // names of the share in question
	own     *calls.Pointer  // the part of this rank; nil: only its copy says where it is
	through bool            // it copies this part to its own slot first, and sends it from there
	merged  bool            // some transfers
	dropped []string        // events that recorded the ends of transfers
}

// merge merges the kernel at index at, if it can, and returns the index of the kernel.
func (m *exchangeMaker) merge(l *calls.Launch, at int) int {
	for _, share := range m.p.Shares {
		m.at, m.of = at, namesIn(m.p, share)
		reads := func(o calls.Operand) bool { return m.of[o.At.Base] && o.At.Peer == nil }
		if !slices.ContainsFunc(l.In, reads) || !m.alone(share) {
			continue
		}
		rows, k := m.byRows(l)
		if parts, ok := m.partsOf(share, at); k != nil && ok && m.fit(share, parts, rows, k) {
			return m.exchange(share, parts, rows, k)
		}
	}
	return at
}

// gather merges the transfers of a share that no kernel was merged with.
func (m *exchangeMaker) gather(share *calls.Share) {
	m.at, m.of = -1, namesIn(m.p, share)
	last := -1
	for i, s := range m.p.Body {
		if _, merged := s.(*calls.RowExchange); !merged && calls.Any([]calls.Stmt{s}, func(s calls.Stmt) bool {
			wait, ok := s.(*calls.FlagWait)
			return ok && wait.Flag.Share == share.Name
		}) {
			last = i
		}
	}
	parts, ok := m.partsOf(share, last)
	if !ok {
		return
	}
	var label string
	for batch := range calls.Each[*calls.MemOpBatch](m.p.Body[parts[0] : last+1]) {
		if batch.Use == "copy" {
			label = batch.Label
		}
	}
	for send := range calls.Each[*calls.Transfer](m.p.Body[parts[0] : last+1]) {
		rows := &calls.Launch{Info: send.Info, Elements: send.Elements}
		rows.Label = cmp.Or(send.Label, label)
		k := &calls.Kernel{}
		n, _ := m.p.Values().Eval(send.Elements)
		if n*share.Type.Size() <= mostGathered && m.cut(rows, k, send.Elements) && m.fit(share, parts, rows, k) {
			m.exchange(share, parts, rows, k)
		}
		return
	}
}

// alone reports whether the memory of a share is a buffer, which can have a second inbox, and of no other share.
func (m *exchangeMaker) alone(share *calls.Share) bool {
	others := slices.ContainsFunc(m.p.Shares, func(s *calls.Share) bool { return s != share && s.Memory == share.Memory })
	return !others && calls.ByName(m.p.Buffers)[share.Memory] != nil
}

// namesIn collects the names of a share and its memory, and of pointers into them.
func namesIn(p *calls.Program, share *calls.Share) map[string]bool {
	of := map[string]bool{share.Name: true, share.Memory: true}
	for d := range calls.Each[*calls.Declare](p.Body) {
		of[d.Name] = of[d.Value.Base] || of[d.Else.Base]
	}
	return of
}

// partsOf lists the indices of the statements that use a share, up to index last: its kernel, or without one its last wait. ok is
// false if other statements before the last wait use it, or if work between them could hide a transfer.
func (m *exchangeMaker) partsOf(share *calls.Share, last int) (parts []int, ok bool) {
	moving := false
	for i, s := range m.p.Body {
		switch s.(type) {
		case *calls.BeginCall, *calls.Declare:
			continue
		}
		switch uses := m.uses(s); {
		case i == m.at, uses && i > last && m.at < 0:
		case uses && i < last && !moving && makesPart(s):
		case uses && (i > last || !movesRows(s, share.Name)):
			return nil, false
		case uses:
			parts = append(parts, i)
			moving = moving || calls.Any(m.p.Body[i:i+1], func(s calls.Stmt) bool { _, copies := s.(*calls.Transfer); return copies })
		case moving && i < last && !hidesNothing(s):
			return nil, false
		}
	}
	return parts, len(parts) > 0
}

// uses reports whether a statement mentions the share or its memory.
func (m *exchangeMaker) uses(s calls.Stmt) (uses bool) {
	calls.RewriteAll([]calls.Stmt{s}, &calls.Rewriter{
		Noted: func(_, name string) { uses = uses || m.of[name] },
		Place: func(p calls.Pointer) calls.Pointer { uses = uses || m.of[p.Base]; return p },
	})
	return uses
}

// makesPart reports whether a statement makes the own part where it is sent from: an earlier exchange, or a statement without flags.
func makesPart(s calls.Stmt) bool {
	if _, ok := s.(*calls.RowExchange); ok {
		return true
	}
	return !calls.Any([]calls.Stmt{s}, func(s calls.Stmt) bool {
		switch s.(type) {
		case *calls.FlagWrite, *calls.FlagWait, *calls.Transfer, *calls.Memcpy, *calls.PeerPart:
			return true
		}
		return false
	})
}

// movesRows reports whether a statement contains only flags and transfers of one share, and copies.
func movesRows(s calls.Stmt, share string) bool {
	return !calls.Any([]calls.Stmt{s}, func(s calls.Stmt) bool {
		switch s := s.(type) {
		case *calls.For, *calls.Let, *calls.Declare, *calls.EventRecord, *calls.MemOpBatch, *calls.Memcpy:
			return false
		case *calls.FlagWrite:
			return s.Flag.Share != share
		case *calls.FlagWait:
			return s.Flag.Share != share
		case *calls.Transfer:
			return s.Share != share
		}
		return true
	})
}

// hidesNothing reports whether a statement only orders streams, sets flags, or belongs to transfers.
func hidesNothing(s calls.Stmt) bool {
	return !calls.Any([]calls.Stmt{s}, func(s calls.Stmt) bool {
		switch s.(type) {
		case *calls.For, *calls.Let, *calls.Declare, *calls.DeclareStream, *calls.EventRecord, *calls.StreamWait, *calls.MemOpBatch,
			*calls.FlagWrite, *calls.FlagWait, *calls.Transfer, *calls.Memcpy, *calls.BeginCall:
			return false
		}
		return true
	})
}

// exchange replaces the transfers of a share and the kernel that reads them, if there is one, and returns the index of their kernel.
func (m *exchangeMaker) exchange(share *calls.Share, parts []int, l *calls.Launch, k *calls.Kernel) int {
	m.names.Reserve(m.p.Name)
	x := &calls.RowExchange{
		Info:  calls.Info{Pos: l.Pos, Label: l.Label, Note: "each block of the kernel sends its rows to the other ranks, and waits for theirs"},
		Name:  m.names.Local(strings.TrimSuffix(share.Name, "_ipc") + "_rows"),
		Share: share.Name, Rows: l.Elements, Row: expr.Int(k.Columns), Type: share.Type,
	}
	for _, i := range parts {
		x.Body = append(x.Body, m.inside(m.p.Body[i:i+1], x.Name, &x.Info)...)
	}
	x.Body = inTurn(x.Body)
	m.keepOwn(x.Body, share)
	at := m.at
	if at >= 0 {
		m.computes(x, share, l, k)
	} else {
		at, parts = parts[len(parts)-1], parts[:len(parts)-1]
	}
	share.Rows, m.merged = l.Elements, true
	m.p.Body[at] = x
	for _, i := range slices.Backward(parts) {
		m.p.Body = slices.Delete(m.p.Body, i, i+1)
	}
	return at - len(parts)
}

// computes ends an exchange with the kernel that reads its rows.
func (m *exchangeMaker) computes(x *calls.RowExchange, share *calls.Share, l *calls.Launch, k *calls.Kernel) {
	l.Batch, l.On, l.Kernel = x.Name, x.On(), m.kernelOf(k, m.p.Body[m.at])
	x.Body = append(x.Body, l)
	for i, o := range l.In {
		if m.of[o.At.Base] {
			k.Arrives = append(k.Arrives, k.Operands[i+1])
		}
	}
	m.twice(share)
}

// twice doubles the memory of a share, for a second inbox.
func (m *exchangeMaker) twice(share *calls.Share) {
	buffer := calls.ByName(m.p.Buffers)[share.Memory]
	share.Elements = expr.Op("*", expr.Int(2), share.Elements)
	buffer.Elements = share.Elements
	if buffer.Shape != nil {
		buffer.Shape = append([]expr.Expr{expr.Int(2)}, buffer.Shape...)
	}
}

// kernelOf declares the kernel of an exchange, in place of the one that only old launches, and returns its name.
func (m *exchangeMaker) kernelOf(k *calls.Kernel, old calls.Stmt) string {
	others := calls.Any(m.p.Body, func(s calls.Stmt) bool {
		l, ok := s.(*calls.Launch)
		return ok && s != old && l.Kernel == k.Name
	})
	at := slices.IndexFunc(m.p.Kernels, func(other *calls.Kernel) bool { return other.Name == k.Name })
	if at >= 0 && !others {
		m.p.Kernels[at] = k
		return k.Name
	}
	for n := 2; m.p.Kernel(&calls.Launch{Kernel: k.Name}) != nil; n++ {
		k.Name = fmt.Sprintf("%s_%d", strings.TrimSuffix(k.Name, fmt.Sprintf("_%d", n-1)), n)
	}
	m.p.Kernels = append(m.p.Kernels, k)
	return k.Name
}

// dropWaits drops the waits for the ends of transfers, and the waits and records of streams without other work.
func (m *exchangeMaker) dropWaits() {
	idle := map[string]bool{}
	for record := range calls.Each[*calls.EventRecord](m.p.Body) {
		if on := record.On.Name; on != calls.Caller && m.idle(on) {
			idle[on], m.dropped = true, append(m.dropped, record.Event.Set)
		}
	}
	idle[calls.Copies] = m.idle(calls.Copies)
	m.p.Body = calls.Edit(m.p.Body, func(s calls.Stmt) []calls.Stmt {
		switch s := s.(type) {
		case *calls.StreamWait:
			if idle[s.On.Name] || slices.Contains(m.dropped, s.Event.Set) {
				return nil
			}
		case *calls.EventRecord:
			if idle[s.On.Name] {
				return nil
			}
		}
		return []calls.Stmt{s}
	})
}

// idle reports whether a stream only waits, and who waits for it waits for nothing but the caller.
func (m *exchangeMaker) idle(name string) bool {
	recorded, waits, others := false, map[string]bool{}, map[string]bool{} // by event: this stream waits, others than the caller record
	for s := range calls.All(m.p.Body) {
		here := slices.ContainsFunc(calls.StreamsOf(s), func(on calls.Stream) bool { return on.Name == name })
		switch s := s.(type) {
		case *calls.StreamWait:
			waits[s.Event.Set] = waits[s.Event.Set] || here
		case *calls.EventRecord:
			recorded = recorded || here
			others[s.Event.Set] = others[s.Event.Set] || s.On.Name != calls.Caller
		default:
			if here {
				return false
			}
		}
	}
	foreign := slices.ContainsFunc(slices.Collect(maps.Keys(waits)), func(set string) bool { return waits[set] && others[set] })
	return !recorded || !foreign
}
