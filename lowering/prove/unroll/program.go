// Package unroll issues a program of calls on every rank and writes down what each rank does, flat: one
// operation after the other as the host issues it, with its stream, the bytes that it reads and writes,
// the flags and events that it waits for and sets, and its part in each NCCL call. Nothing is run and
// nothing is decided here: the checks of lowering/prove build on it.
//
// It is that of one call. Every call issues the same operations, since nothing that a program can name
// differs between calls, so call k is this list again: streams and memories are the same, events are
// those of call k (a call has a set of its own), and flags get sequence numbers that are Begun higher per
// call. A call begins with CallBegin and ends with CallEnd, by which the caller, on its stream, changes
// its arguments and reads the results.
package unroll

import (
	"math"

	"github.com/hirgen/hirgen/lowering/calls"
)

// Program is what all ranks issue in one call. Ranks have the numbers of the world, 0, 1, ...; all other
// things are numbered alike on all ranks.
type Program struct {
	Calls    *calls.Program
	Stmts    []calls.Stmt // by the Stmt of operations: the statements of the program in the order of its text
	Streams  []string     // by the Stream of operations; those of calls.Stream, as text
	Memories []Memory     // by the Memory of accesses
	Names    []string     // by the Part of accesses: buffers and arguments
	Shares   []Share      // as the program declares them
	Layouts  []*Layout    // by the Layout of accesses; each stands once
	Comms    []Comm       // by the Comm of parts
	Ranks    []Rank
	Faults   []Fault
}

// Caller is the number of the caller's stream.
const Caller = 0

// Memory is one allocation, which each rank has that is in its Guard or mesh.
type Memory struct {
	Name  string
	Kind  MemoryKind
	Type  string // element type; empty for workspaces
	Bytes int64  // of one rank; 0 for workspaces, whose accesses are of one byte that stands for all
	Share int32  // by which other ranks reach it; -1: none
	Parts int    // how many buffers and arguments lie in it
	Where string // where the spec asks for it; empty for arguments
}

// MemoryKind says whose a memory is.
type MemoryKind uint8

// The kinds of memories.
const (
	Input     MemoryKind = iota // the caller's, read by the program
	Output                      // the caller's, written
	Buffer                      // the program's; those that are `in` another one are the same memory
	Workspace                   // of GEMMs on one stream, or of an attention
	Counter                     // of the calls of a share, in a captured program: see Begin
)

// Share is what a declared share is unrolled to: its flags have the numbers from FirstFlag on, first the
// ready flags of all transfers, then the done flags.
type Share struct {
	Declared  *calls.Share
	Memory    int32
	FirstFlag int32
	Transfers int32
	Counter   int32 // memory
}

// Comm is a communicator: a team with the ranks of one line along its axis, in the order of the team.
type Comm struct {
	Team  *calls.Team
	Ranks []int32
}

// Rank is what one rank has and issues.
type Rank struct {
	Has      []bool // by memory
	Ops      []Op
	Accesses []Access
	Signals  []Signal
	Parts    []Part
	Begun    []int32 // by share: by how much a call raises the sequence number
}

// Kind is what an operation is.
type Kind uint8

// The kinds of operations.
const (
	CallBegin Kind = iota // the caller hands over its arguments: it has written inputs and outputs
	CallEnd               // the caller takes them back: it reads outputs and overwrites inputs
	Begin                 // of the call of a share; in a captured program a kernel on the caller's stream counts it
	Record
	Wait     // for the record Arg of this rank; -1: it has none before in this call
	Flags    // flag writes or waits, one or a batch
	Copy     // by a copy engine
	Transfer // by SMs, with a wait for a ready flag before and a write of a done flag behind
	Join     // of what a batch of transfers, in lanes, has begun
	PeerSum
	Nccl // a call, or a group of them
	Gemm
	Attend
	Launch
	Delay
)

// Op is one operation. First it waits for its signals, then it accesses memory, then it sets its signals.
// Operations of a stream run one after the other; but those with a lane follow what stands on the stream
// before the first lane, and run beside each other up to the Join.
type Op struct {
	Kind     Kind
	Spins    bool   // waits in a kernel, which holds SMs meanwhile
	Lane     uint16 // 0: none
	Stream   int16
	Waits    uint16 // of Record: how many operations of the call wait for it, up to Many
	Stmt     int32  // -1: none
	Step     int32  // value of the innermost loop; -1: none
	Arg      int32  // of Wait: the operation that recorded its event. Record: number of the event. Begin: share. Launch of positions: the first
	Accesses Range
	Signals  Range
	Parts    Range
}

// Many is how many waits are counted.
const Many = math.MaxUint16

// Range is a part of a list of the rank.
type Range struct{ First, End int32 }

// Access is memory that an operation reads or writes. Operand says which it is of its statement:
//
//	Gemm: 0 out, 1 a, 2 b, 3 addend, 4 bias, 5 workspace
//	Copy, Transfer: 0 out, 1 in
//	Launch: 0 out, 1 + i its i-th In
//	Attend: 0 q, 1 k, 2 v, 3 o, 4 logs, 5 grad_o, 6 grad_q, 7 grad_k, 8 grad_v, 9 workspace
//	PeerSum: 0 out, 1 own, 2 + i the i-th part as it is issued
//	Nccl: 0 out, 1 in; parts say which are theirs
//	CallBegin, CallEnd: its place among the arguments
//	Begin, Flags, Transfer, PeerSum: Counting for the counter of a captured share
type Access struct {
	Owner   int32 // rank whose memory it is
	Memory  int32
	Offset  int64 // in bytes
	Layout  int32
	Operand int16
	Write   bool
	Part    int32 // through which buffer or argument; -1: none
}

// Counting is the operand of accesses to counters.
const Counting = -1

// Signal is a flag that an operation waits for, or writes. The sequence number is that in the first call.
type Signal struct {
	Owner    int32 // rank in whose memory the flag is
	Flag     int32 // number of the flag: see Share
	Sequence int32 // 0: the call of the share has not begun
	Write    bool
}

// Part is what a rank brings to one NCCL call. Parts meet in the order in which ranks issue them:
// collectives by their Comm; sends and receives by Comm, sender and receiver.
type Part struct {
	Kind    PartKind
	Stmt    int32 // the call; its kind, element type and function
	Comm    int32
	Peer    int32 // world rank, of Send and Recv
	Root    int32 // within the team; -1: there is none
	Count   int64 // elements
	In, Out int32 // accesses, by their numbers in the rank; -1: none
}

// PartKind is what a part is.
type PartKind uint8

// The kinds of parts.
const (
	Collective PartKind = iota
	Send
	Recv
)

// Fault is what no rank could issue: an offset outside of its memory, a flag that is not there. Each
// statement has one of a kind, of the first rank.
type Fault struct {
	Kind FaultKind
	Rank int32
	Stmt int32 // -1: none
	Step int32
	Text string // a sentence without a final stop
}

// FaultKind is what is wrong.
type FaultKind string

// The kinds of faults.
const (
	BadValue  FaultKind = "value"   // an expression has none, or is out of its range
	BadName   FaultKind = "name"    // nothing is declared so
	Bounds    FaultKind = "bounds"  // outside of the memory
	NoMemory  FaultKind = "absent"  // the rank does not have the memory
	WrongType FaultKind = "type"    // the memory holds elements of another size
	Unreached FaultKind = "reach"   // a peer that shares nothing with the rank
	Misplaced FaultKind = "nesting" // no part of what it stands in
)

// AccessesOf lists the accesses of an operation.
func (r *Rank) AccessesOf(o *Op) []Access { return r.Accesses[o.Accesses.First:o.Accesses.End] }

// SignalsOf lists the signals of an operation.
func (r *Rank) SignalsOf(o *Op) []Signal { return r.Signals[o.Signals.First:o.Signals.End] }

// PartsOf lists the parts of an operation.
func (r *Rank) PartsOf(o *Op) []Part { return r.Parts[o.Parts.First:o.Parts.End] }

// Operations counts those of all ranks.
func (p *Program) Operations() int {
	n := 0
	for i := range p.Ranks {
		n += len(p.Ranks[i].Ops)
	}
	return n
}
