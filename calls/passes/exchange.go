package passes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// mostExchanging is the largest number of ranks that exchange rows in one kernel: RowExchange::kMostPeers peers and
// this rank.
const mostExchanging = 16

// exchangeInKernels merges a kernel with the transfers that only this kernel waits for, if kernels of the copy stream
// run these transfers. Every rank sends a part to each rank, and the kernel reads the parts that arrive. This saves
// time because a kernel takes microseconds to start and to end, and because a row of the results needs only the same
// row of all parts.
//
//	MemOpBatch(use write):  For(var s, first 1, count D): FlagWrite(ready)     RowExchange(name ipc_rows, rows M):
//	For(var s, first 1, count D): Transfer(out ipc[to] + rank * M * N, in P)     For(...): FlagWrite(ready, batch ipc_rows, on caller)
//	Memcpy(out parts_ + rank * M * N, in P)                                ->    For(...): Transfer(..., batch ipc_rows, on caller)
//	MemOpBatch(use wait):   For(var s, first 1, count D): FlagWait(done)         Memcpy(..., batch ipc_rows, on caller)
//	Launch(kernel add, a parts_, b parts_ + M * N)                               For(...): FlagWait(done, batch ipc_rows, on caller)
//	                                                                             Launch(..., batch ipc_rows, on caller)
//
// If no kernel can read the rows, transfers of parts of at most domain.MostExchanged bytes become a RowExchange whose kernel
// only moves rows.
//
// The pass does not merge transfers that other work may hide: between the first transfer and the kernel, or the last
// wait, there may only be flags, copies, transfers and waits. It skips programs that depend on nodes, and programs with
// more than mostExchanging ranks.
func exchangeInKernels(p *calls.Program) {
	if calls.AsksForNodes(p.Body) || len(p.Shares) == 0 || len(p.Ranks()) > mostExchanging {
		return
	}
	m := &exchangeMaker{memoryUses: newMemoryUses(p), p: p, names: taken(p), dropped: map[string]bool{}}
	for i, s := range p.Body {
		if l, ok := s.(*calls.Launch); ok {
			m.merge(l, i)
		}
	}
	for _, share := range p.Shares {
		m.gather(share)
	}
	if m.merged {
		p.Body = slices.DeleteFunc(p.Body, func(s calls.Stmt) bool { return s == nil })
		m.dropWaits()
	}
}

// exchangeMaker merges the kernels of a program with their transfers. It sets merged statements to nil in the body of
// the program.
type exchangeMaker struct {
	*memoryUses
	p       *calls.Program
	names   *names.Table
	share   *calls.Share    // the share whose transfers are merged
	at      int             // index of the kernel that reads the share; -1: there is none
	own     *calls.Pointer  // the local part; nil: only the copy of the part to its slot tells where it is
	through bool            // the rank copies the local part to its own slot first, and sends it from there
	merged  bool            // whether any transfers were merged
	dropped map[string]bool // sets of events whose records the pass drops
}

// merge merges the kernel l, at index at of the body, with the transfers of a share whose memory it reads, if possible.
func (m *exchangeMaker) merge(l *calls.Launch, at int) {
	for _, o := range l.In {
		for _, memory := range m.memories[o.At.Base] {
			// Only the memory of a buffer can be doubled, for a second inbox.
			if o.At.Peer != nil || len(m.shares[memory]) != 1 || m.buffers[memory] == nil {
				continue
			}
			m.at, m.share = at, m.shares[memory][0]
			rows, k := m.byRows(l)
			if parts, ok := m.partsOf(at); k != nil && ok && m.fit(parts, rows, k) {
				m.exchange(parts, rows, k)
				return
			}
		}
	}
}

// gather merges the transfers of a share into a RowExchange without a kernel that reads the rows. It leaves them as they
// are if merge has merged them with a kernel, if a part is larger than domain.MostExchanged, or if they do not fit.
func (m *exchangeMaker) gather(share *calls.Share) {
	last, waits := m.waits[share.Name]
	if share.Rows != nil || !waits {
		return
	}
	m.at, m.share = -1, share
	parts, ok := m.partsOf(last)
	if !ok {
		return
	}
	var label string
	for batch := range calls.Each[*calls.MemOpBatch](m.list(parts)) {
		if batch.Use == "copy" {
			label = batch.Label
		}
	}
	for send := range calls.Each[*calls.Transfer](m.list(parts)) {
		rows := &calls.Launch{Info: send.Info, Elements: send.Elements}
		rows.Label = cmp.Or(send.Label, label)
		k := &calls.Kernel{}
		n, _ := m.values.Eval(send.Elements)
		if n*share.Type.Size() <= domain.MostExchanged && m.cut(rows, k, send.Elements) && m.fit(parts, rows, k) {
			m.exchange(parts, rows, k)
		}
		return
	}
}

// partsOf lists the indices of the statements that move rows of the share. last is the index of the kernel that reads
// them or, without a kernel, of the last wait. ok is false if there are none, if work among them could hide a transfer,
// or if other statements use the memory of the share. Before the first transfer, statements may compute the local part.
// Without a kernel, later statements may use the memory, too.
func (m *exchangeMaker) partsOf(last int) (parts []int, ok bool) {
	moving := -1 // the first transfer
	for _, i := range m.users[m.share.Memory] {
		switch s := m.p.Body[i]; {
		case s == nil, i == m.at, i > last && m.at < 0:
		case i < last && moving < 0 && makesPart(s):
		case i > last || !movesRows(s, m.share.Name):
			return nil, false
		default:
			parts = append(parts, i)
			if moving < 0 && calls.Any([]calls.Stmt{s}, calls.Is[*calls.Transfer]) {
				moving = i
			}
		}
	}
	for i := moving; 0 <= i && i < last; i++ {
		if s := m.p.Body[i]; s != nil && !hidesNothing(s) {
			return nil, false
		}
	}
	return parts, len(parts) > 0
}

// in reports whether a name refers to memory of the share.
func (m *exchangeMaker) in(name string) bool {
	return slices.Contains(m.memories[name], m.share.Memory)
}

// list returns the statements at some indices.
func (m *exchangeMaker) list(parts []int) (body []calls.Stmt) {
	for _, i := range parts {
		body = append(body, m.p.Body[i])
	}
	return body
}

// makesPart reports whether a statement may compute the local part in the memory of the share. It is an earlier
// exchange, or a statement without flags, transfers, copies and PeerParts.
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

// movesRows reports whether a statement consists only of copies, and of flags and transfers of one share.
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

// hidesNothing reports whether a statement does no work that a transfer could overlap with: it only orders streams,
// sets flags, or moves data.
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

// exchange replaces the transfers of the share, and the kernel that reads them if there is one, by a RowExchange.
func (m *exchangeMaker) exchange(parts []int, l *calls.Launch, k *calls.Kernel) {
	x := &calls.RowExchange{
		Info:  calls.Info{Pos: l.Pos, Label: l.Label, Note: "each block of the kernel sends its rows to the other ranks, and waits for theirs"},
		Name:  m.names.Local(strings.TrimSuffix(m.share.Name, "_ipc") + "_rows"),
		Share: m.share.Name, Rows: l.Elements, Row: expr.Int(k.Columns), Type: m.share.Type,
	}
	x.Body = inTurn(m.inside(m.list(parts), x.Name, &x.Info))
	m.keepOwn(x.Body)
	at := m.at
	if at >= 0 {
		m.computes(x, l, k)
	} else {
		at = parts[len(parts)-1]
	}
	m.share.Rows, m.merged = l.Elements, true
	for _, i := range parts {
		m.p.Body[i] = nil
	}
	m.p.Body[at] = x
	m.add(x, at)
}

// computes appends the kernel that reads the rows to an exchange.
func (m *exchangeMaker) computes(x *calls.RowExchange, l *calls.Launch, k *calls.Kernel) {
	for i, o := range l.In {
		if m.in(o.At.Base) {
			k.Arrives = append(k.Arrives, k.Operands[i+1])
		}
	}
	l.Batch, l.On, l.Kernel = x.Name, x.On(), m.kernelOf(k, l.Kernel)
	x.Body = append(x.Body, l)
	m.twice()
}

// twice doubles the memory of the share, for a second inbox: calls use the two in turn.
func (m *exchangeMaker) twice() {
	buffer := m.buffers[m.share.Memory]
	m.share.Elements = expr.Op("*", expr.Int(2), m.share.Elements)
	buffer.Elements = m.share.Elements
	if buffer.Shape != nil {
		buffer.Shape = append([]expr.Expr{expr.Int(2)}, buffer.Shape...)
	}
}

// kernelOf declares the kernel k of an exchange, and returns its name. It uses a declared kernel that does the same. If
// there is none, k replaces the original kernel if no other statement launches the original. Otherwise kernelOf adds k,
// with a free name.
func (m *exchangeMaker) kernelOf(k *calls.Kernel, original string) string {
	m.launches[original]--
	if like := slices.IndexFunc(m.p.Kernels, k.Alike); like >= 0 {
		name := m.p.Kernels[like].Name
		m.launches[name]++
		return name
	}
	at := slices.IndexFunc(m.p.Kernels, func(other *calls.Kernel) bool { return other.Name == original })
	if at >= 0 && m.launches[original] == 0 {
		m.p.Kernels[at] = k
	} else {
		if m.p.Kernel(&calls.Launch{Kernel: k.Name}) != nil {
			m.names.Reserve(k.Name)
			k.Name = m.names.Local(k.Name)
		}
		m.p.Kernels = append(m.p.Kernels, k)
	}
	m.launches[k.Name]++
	return k.Name
}

// dropWaits drops waits for the dropped events, the waits and records of idle streams (idleStreams), and waits for these
// records.
func (m *exchangeMaker) dropWaits() {
	idle := idleStreams(m.p)
	for record := range calls.Each[*calls.EventRecord](m.p.Body) {
		m.dropped[record.Event.Set] = m.dropped[record.Event.Set] || idle(record.On.Name)
	}
	m.p.Body = calls.Edit(m.p.Body, func(s calls.Stmt) []calls.Stmt {
		switch s := s.(type) {
		case *calls.StreamWait:
			if idle(s.On.Name) || m.dropped[s.Event.Set] {
				return nil
			}
		case *calls.EventRecord:
			if idle(s.On.Name) {
				return nil
			}
		}
		return []calls.Stmt{s}
	})
}

// idleStreams returns a function that reports whether a stream orders no work: it only waits and records, and if it
// records, it waits only for events of the caller's stream.
func idleStreams(p *calls.Program) func(name string) bool {
	works, records := map[string]bool{calls.Caller: true}, map[string]bool{}
	waits, foreign := map[string][]string{}, map[string]bool{} // sets that a stream waits for; sets of streams other than the caller's
	for s := range calls.All(p.Body) {
		for _, on := range calls.StreamsOf(s) {
			switch s := s.(type) {
			case *calls.StreamWait:
				waits[on.Name] = append(waits[on.Name], s.Event.Set)
			case *calls.EventRecord:
				records[on.Name] = true
				foreign[s.Event.Set] = foreign[s.Event.Set] || on.Name != calls.Caller
			default:
				works[on.Name] = true
			}
		}
	}
	return func(name string) bool {
		return !works[name] && (!records[name] || !lists.AnyIn(waits[name], foreign))
	}
}
