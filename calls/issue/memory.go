package issue

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Memory is an allocation on each rank that has it (World.Has).
type Memory struct {
	Name  string
	Kind  MemoryKind
	Type  string // element type; empty for workspaces and counters
	Bytes int64  // of one rank; 0 for workspaces and counters
	Share int32  // the share through which other ranks access it; -1: none
	Parts int    // number of spans in it, with the span of the whole memory
	Where string // of a buffer: its origin in the spec; otherwise empty
}

// MemoryKind says who owns a memory and what it is for.
type MemoryKind uint8

// The kinds of memories.
const (
	Input     MemoryKind = iota // the caller's, read by the program
	Output                      // the caller's, written by the program
	Buffer                      // the program's; a buffer `in` another buffer is part of the same memory
	Workspace                   // of GEMMs and attentions on one stream
	Counter                     // counts the calls of a share, in a program that is captured as a CUDA graph
)

// Share is a share with the numbers of its memory and flags. Its flags have consecutive numbers from FirstFlag on: the
// ready flags of all transfers, and then their done flags.
type Share struct {
	Declared  *calls.Share
	Memory    int32
	FirstFlag int32
	Transfers int32
	Counter   int32 // the memory of its call counter, in a program that is captured as a CUDA graph; otherwise -1
}

// declareMemories numbers the memories, the shares and their flags.
func (w *World) declareMemories() {
	add := func(m Memory) int32 {
		m.Share = -1
		n := int32(len(w.Memories))
		w.memories[m.Name] = n
		w.Memories = append(w.Memories, m)
		w.span(n, m.Name, domain.DType(m.Type), 0, m.Bytes)
		return n
	}
	p := w.Calls
	for _, d := range p.Arguments {
		kind := Input
		if d.Output {
			kind = Output
		}
		add(Memory{Name: d.Name, Kind: kind, Type: string(d.Type), Bytes: w.Constant(d.Elements) * d.Type.Size()})
	}
	for _, d := range p.Buffers {
		if d.In == "" {
			add(Memory{Name: d.Name, Kind: Buffer, Type: string(d.Type), Bytes: w.Constant(d.Elements) * d.Type.Size(), Where: d.Where})
		}
	}
	for _, d := range p.Buffers {
		if n, ok := w.memories[d.In]; ok && d.In != "" {
			w.memories[d.Name] = n
			w.span(n, d.Name, d.Type, d.Offset, w.Constant(d.Elements)*d.Type.Size())
		}
	}
	w.workspaces = add(Memory{Name: callersWorkspace, Kind: Workspace})
	for i := range p.Streams {
		add(Memory{Name: workspaceOf(int64(i)), Kind: Workspace})
	}
	flag := int32(0)
	for i, d := range p.Shares {
		s := Share{Declared: d, Memory: -1, FirstFlag: flag, Transfers: int32(w.Constant(d.Transfers)), Counter: -1}
		flag += 2 * s.Transfers
		if n, ok := w.memories[d.Memory]; ok {
			s.Memory = n
			w.Memories[n].Share = int32(i)
		}
		if p.Graph {
			s.Counter = add(Memory{Name: d.Name + ".counter", Kind: Counter})
		}
		w.shares[d.Name] = int32(i)
		w.Shares = append(w.Shares, s)
	}
}

const callersWorkspace = "workspace_"

func workspaceOf(stream int64) string { return fmt.Sprintf("workspaces_[%d]", stream) }

// Has reports, for each memory, whether a rank has it.
func (w *World) Has(rank int32) []bool {
	has := make([]bool, len(w.Memories))
	for i := range has {
		has[i] = true
	}
	for _, d := range w.Calls.Arguments {
		has[w.memories[d.Name]] = w.inMesh(d.Mesh, rank)
	}
	for _, d := range w.Calls.Buffers {
		if n, ok := w.memories[d.Name]; ok && d.In == "" {
			has[n] = w.holds(d.Guard, rank)
		}
	}
	return has
}

// Span is the memory that a name refers to, from byte First to byte End of a memory: all of it, or a buffer inside it.
type Span struct {
	Name       string
	Number     int32
	Type       domain.DType // of its elements; empty for workspaces and counters
	First, End int64
}

// span adds the span of a name in a memory.
func (w *World) span(memory int32, name string, t domain.DType, first, bytes int64) {
	w.spans[name] = &Span{name, int32(len(w.Spans)), t, first, first + bytes}
	w.Spans = append(w.Spans, w.spans[name])
	w.Memories[memory].Parts++
}

// Place is the target of a pointer.
type Place struct {
	Owner, Memory int32 // the rank whose memory it is, and the number of the memory; Memory -1: a null pointer
	Share         int32 // the share through which this rank accesses it; -1: none
	From          int64 // offset in bytes of the first pointer in a chain of declared pointers; without such a chain, Offset
	Offset        int64 // in the memory, in bytes
	Type          domain.DType
	Of            *Span // the part of the memory that has to contain the accessed bytes; nil: a null pointer
}

var nowhere = Place{Memory: -1, Share: -1}

// At resolves a pointer. It returns false after a fault, and for a share whose memory is not declared.
func (r *Rank) At(s calls.Stmt, p calls.Pointer) (Place, bool) {
	if p.Base == "" {
		return nowhere, true
	}
	at, named := r.named[p.Base]
	named = named && p.Peer == nil
	if !named {
		var ok bool
		if at, ok = r.base(s, p); !ok {
			return nowhere, false
		}
	}
	offset, ok := r.Value(s, p.Offset)
	at.Offset += offset * at.Type.Size()
	if !named {
		at.From = at.Offset
	}
	return at, ok
}

// base resolves the base of a pointer. It returns false after a fault, and for a share whose memory is not declared.
func (r *Rank) base(s calls.Stmt, p calls.Pointer) (Place, bool) {
	if p.Peer != nil {
		share, ok := r.share(s, p.Base)
		if !ok {
			return nowhere, false
		}
		peer, ok := r.peer(s, p.Peer, share)
		if !ok {
			return nowhere, false
		}
		d := r.Shares[share]
		if d.Memory < 0 {
			return nowhere, false
		}
		of := r.spans[d.Declared.Memory]
		return Place{peer, d.Memory, share, 0, of.First, d.Declared.Type, of}, true
	}
	memory, ok := r.memories[p.Base]
	if !ok {
		r.fault(s, BadName, "nothing is called %s", p.Base)
		return nowhere, false
	}
	of := r.spans[p.Base]
	return Place{r.Number, memory, -1, 0, of.First, of.Type, of}, true
}

// share returns the number of a share. It returns false after a fault.
func (r *Rank) share(s calls.Stmt, name string) (int32, bool) {
	n, ok := r.shares[name]
	if !ok {
		r.fault(s, BadName, "there is no share %s", name)
	}
	return n, ok
}

// peer evaluates the rank of a peer. It returns false after a fault, such as a peer that shares no memory with this
// rank.
func (r *Rank) peer(s calls.Stmt, e expr.Expr, share int32) (int32, bool) {
	peer, ok := r.rankAt(s, e)
	if !ok {
		return 0, false
	}
	d := r.Shares[share].Declared
	if !r.Share(d, r.Number, peer) {
		r.fault(s, Unreached, "rank %d shares no %s with it", peer, d.Name)
		return 0, false
	}
	return peer, true
}

// Workspace returns the number of the memory that represents the workspace of a statement. It returns false after a
// fault.
func (r *Rank) Workspace(s calls.Stmt) (int32, bool) {
	e, _ := calls.WorkspaceOf(s)
	if e == nil {
		return r.workspaces, true
	}
	index, ok := r.Value(s, e)
	if ok && (index < 0 || index >= int64(r.Calls.Streams)) {
		r.fault(s, BadValue, "there is no workspace %d among %d", index, r.Calls.Streams)
		ok = false
	}
	return r.workspaces + 1 + int32(index), ok
}
