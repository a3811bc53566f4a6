package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// mostExchanging is the most ranks that exchange rows in one kernel (RowExchange::kMostPeers, and this rank).
const mostExchanging = 16

// exchangeInKernels merges a kernel and the transfers that only it waits for, if kernels of the copy stream run these transfers. Every
// rank sends the same rows to all ranks, and the kernel reads them. A kernel takes microseconds to start and to end, and a row of the
// results needs only the same row of all parts.
//
//	MemOpBatch(use write):  For(var s, first 1, count D): FlagWrite(ready)     Exchange(name parts, rows M):
//	For(var s, first 1, count D): Transfer(out ipc[to] + rank * M * N, in P)     For(...): FlagWrite(ready, batch parts, on caller)
//	Memcpy(out parts_ + rank * M * N, in P)                                ->    For(...): Transfer(..., batch parts, on caller)
//	MemOpBatch(use wait):   For(var s, first 1, count D): FlagWait(done)         Memcpy(..., batch parts, on caller)
//	Launch(kernel add, a parts_, b parts_ + M * N)                               For(...): FlagWait(done, batch parts, on caller)
//	                                                                             Launch(..., batch parts, on caller)
//
// It leaves transfers alone that other work hides: nothing but flags and copies of the same kind is between them and the kernel.
func exchangeInKernels(p *calls.Program) {
	if calls.AsksForNodes(p.Body) {
		return
	}
	m := &exchangeMaker{p: p, names: names.NewTable(), effects: effects.New(p)}
	for i := 0; i < len(p.Body); i++ {
		if l, ok := p.Body[i].(*calls.Launch); ok {
			i = m.merge(l, i)
		}
	}
	if len(m.dropped) > 0 {
		m.dropWaits()
	}
}

// exchangeMaker merges the kernels of a program with their transfers.
type exchangeMaker struct {
	p       *calls.Program
	names   *names.Table
	effects *effects.Table
	of      map[string]bool // names of the share in question
	dropped []string        // events that recorded the ends of transfers
}

// merge merges the kernel at index at, if it can, and returns the index of the kernel.
func (m *exchangeMaker) merge(l *calls.Launch, at int) int {
	k := m.p.Kernel(l)
	if k == nil || k.Columns == 0 || k.Views || l.Elements == nil || k.Steps() == nil {
		return at
	}
	if _, folds := k.Steps().FoldsColumns(); folds {
		return at
	}
	for _, share := range m.p.Shares {
		m.of = namesIn(m.p, share)
		readsIt := slices.ContainsFunc(l.In, func(o calls.Operand) bool { return m.of[o.At.Base] && o.At.Peer == nil })
		if parts, ok := m.partsOf(share, at); readsIt && ok && m.fit(share, parts, l, k) {
			return m.exchange(share, parts, l, k, at)
		}
	}
	return at
}

// namesIn collects the names of a share and its memory, and of pointers into them.
func namesIn(p *calls.Program, share *calls.Share) map[string]bool {
	of := map[string]bool{share.Name: true, share.Memory: true}
	for d := range calls.Each[*calls.Declare](p.Body) {
		of[d.Name] = of[d.Value.Base] || of[d.Else.Base]
	}
	return of
}

// partsOf lists the indices of the statements that use a share, in front of the kernel at index at. ok is false if others use it, or if
// work between them could hide a transfer.
func (m *exchangeMaker) partsOf(share *calls.Share, at int) (parts []int, ok bool) {
	for i, s := range m.p.Body {
		switch s.(type) {
		case *calls.BeginCall, *calls.Declare:
			continue
		}
		switch uses := m.uses(s); {
		case i == at:
		case uses && (i > at || !movesRows(s, share.Name)):
			return nil, false
		case uses:
			parts = append(parts, i)
		case len(parts) > 0 && i < at && !hidesNothing(s):
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

// fit reports whether, on every rank, all transfers and one copy move the same rows, and the kernel reads whole parts of these rows.
func (m *exchangeMaker) fit(share *calls.Share, parts []int, l *calls.Launch, k *calls.Kernel) bool {
	values := m.p.Values()
	rows, known := values.Eval(l.Elements)
	ranks, counted := values.Eval(share.Transfers)
	list, err := m.effects.Of(l)
	if !known || !counted || err != nil || ranks > mostExchanging || share.Mesh != "" || int(ranks) != len(m.p.Ranks()) {
		return false
	}
	inside := map[calls.Stmt]bool{}
	for _, i := range parts {
		for s := range calls.All(m.p.Body[i : i+1]) {
			inside[s] = true
		}
	}
	world := issue.New(m.p, nil)
	for _, rank := range m.p.Ranks() {
		f := &fitting{Rank: world.Rank(int32(rank)), inside: inside, launch: l, kernel: k, reads: list, of: m.of, part: rows * k.Columns}
		f.bytes, f.well = f.part*share.Type.Size(), true
		f.Run(m.p.Body, f.visit)
		if !f.well || f.keeps != 1 || f.sends != int(ranks)-1 {
			return false
		}
	}
	return true
}

// fitting compares the rows that one rank copies with those that its kernel reads.
type fitting struct {
	*issue.Rank
	inside       map[calls.Stmt]bool // the statements that move rows
	launch       *calls.Launch
	kernel       *calls.Kernel
	reads        []effects.Operand
	of           map[string]bool // names of the memory with the parts
	part, bytes  int64           // elements and bytes of a part
	from         *issue.Place    // what the rank sends; nil: nothing so far
	to           int64           // its place in the memory with the parts
	sends, keeps int
	well         bool
}

func (f *fitting) visit(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.MemOpBatch:
		f.Run(s.Body, f.visit)
	case *calls.Transfer:
		if f.inside[s] {
			f.sends++
			f.moves(s, s.Out, s.In, s.Elements)
		}
	case *calls.Memcpy:
		if f.inside[s] {
			f.keeps++
			f.moves(s, s.Out, s.In, s.Elements)
		}
	case *calls.Launch:
		for _, o := range f.reads {
			if place, there := f.At(s, o.At); s == f.launch && f.of[o.At.Base] {
				f.well = f.well && there && !o.Write && f.kernel.Uses[o.Number] == calls.ForElement && place.Offset%f.bytes == 0
			}
		}
	}
}

// moves checks a copy of rows: from the same place as the others, to the same part.
func (f *fitting) moves(s calls.Stmt, out, in calls.Pointer, elements expr.Expr) {
	n, _ := f.Value(s, elements)
	to, there := f.At(s, out)
	source, here := f.At(s, in)
	same := f.from == nil || *f.from == source && f.to == to.Offset
	f.well = f.well && there && here && same && n == f.part && to.Offset%f.bytes == 0
	f.from, f.to = &source, to.Offset
}

// exchange replaces the transfers of a share and the kernel that reads them, and returns the index of their kernel.
func (m *exchangeMaker) exchange(share *calls.Share, parts []int, l *calls.Launch, k *calls.Kernel, at int) int {
	m.names.Reserve(m.p.Name)
	x := &calls.RowExchange{
		Info: calls.Info{Pos: l.Pos, Note: "each block of the kernel sends its rows to the other ranks, and waits for theirs"},
		Name: m.names.Local("parts"), Share: share.Name, Rows: l.Elements, Row: expr.Int(k.Columns), Type: share.Type,
	}
	for _, i := range parts {
		x.Body = append(x.Body, m.inside(m.p.Body[i:i+1], x.Name)...)
	}
	l.Batch, l.On, l.Kernel = x.Name, calls.Stream{Name: calls.Caller}, m.kernelOf(k)
	x.Body = append(ownPart(inTurn(x.Body), share), l)
	share.Rows = l.Elements
	m.p.Body[at] = x
	for _, i := range slices.Backward(parts) {
		m.p.Body = slices.Delete(m.p.Body, i, i+1)
	}
	return at - len(parts)
}

// inTurn sorts the parts of an exchange: ready flags, transfers, the own part, done flags.
func inTurn(body []calls.Stmt) []calls.Stmt {
	rank := func(s calls.Stmt) (n int) {
		for s := range calls.All([]calls.Stmt{s}) {
			switch s.(type) {
			case *calls.Transfer:
				n = 1
			case *calls.Memcpy:
				n = 2
			case *calls.FlagWait:
				n = 3
			}
		}
		return n
	}
	slices.SortStableFunc(body, func(a, b calls.Stmt) int { return rank(a) - rank(b) })
	return body
}

// ownPart writes the copy of the own part, which may be the only iteration of a loop, as the transfers of this part are written.
func ownPart(body []calls.Stmt, share *calls.Share) []calls.Stmt {
	for send := range calls.Each[*calls.Transfer](body) {
		for i, s := range body {
			for keep := range calls.Each[*calls.Memcpy]([]calls.Stmt{s}) {
				keep.Out, keep.In = calls.Pointer{Base: share.Memory, Offset: send.Out.Offset}, send.In
				body[i] = keep
			}
		}
	}
	return body
}

// inside turns statements into parts of an exchange.
func (m *exchangeMaker) inside(body []calls.Stmt, name string) (out []calls.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *calls.MemOpBatch:
			out = append(out, m.inside(s.Body, name)...)
			continue
		case *calls.For:
			s.Body = m.inside(s.Body, name)
		case *calls.EventRecord:
			m.dropped = append(m.dropped, s.Event.Set)
			continue
		case *calls.FlagWrite:
			s.Batch, s.Joins, s.Kernel, s.On = name, "", false, calls.Stream{Name: calls.Caller}
		case *calls.FlagWait:
			s.Batch, s.Joins, s.Kernel, s.On = name, "", false, calls.Stream{Name: calls.Caller}
		case *calls.Transfer:
			s.Batch, s.Joins, s.On = name, "", calls.Stream{Name: calls.Caller}
		case *calls.Memcpy:
			s.Batch, s.On = name, calls.Stream{Name: calls.Caller}
		}
		if s.Meta().Note != "" {
			s.Meta().Note = ""
		}
		out = append(out, s)
	}
	return out
}

// kernelOf returns the name of the kernel that exchanges rows first: k, or a copy if other launches use k, too.
func (m *exchangeMaker) kernelOf(k *calls.Kernel) string {
	launches := 0
	for l := range calls.Each[*calls.Launch](m.p.Body) {
		if l.Kernel == k.Name {
			launches++
		}
	}
	if launches > 1 {
		other := *k
		other.Name = k.Name + "_of_parts"
		for m.p.Kernel(&calls.Launch{Kernel: other.Name}) != nil {
			other.Name += "_2"
		}
		m.p.Kernels = append(m.p.Kernels, &other)
		k = &other
	}
	k.Exchange = true
	return k.Name
}

// dropWaits drops the waits for the ends of transfers, and those of the copy stream if it has no other work.
func (m *exchangeMaker) dropWaits() {
	copies := calls.Stream{Name: calls.Copies}
	idle := !calls.Any(m.p.Body, func(s calls.Stmt) bool {
		_, waits := s.(*calls.StreamWait)
		return !waits && slices.Contains(calls.StreamsOf(s), copies)
	})
	m.p.Body = calls.Edit(m.p.Body, func(s calls.Stmt) []calls.Stmt {
		if w, ok := s.(*calls.StreamWait); ok && (slices.Contains(m.dropped, w.Event.Set) || idle && w.On == copies) {
			return nil
		}
		return []calls.Stmt{s}
	})
}
