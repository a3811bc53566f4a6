// Package unroll issues a program of calls on every rank and lists what each rank does: one operation after the other, in the
// order in which the host issues them. An operation has its stream, the bytes that it reads and writes, the flags and events that
// it waits for and sets, and its parts of NCCL calls. The package runs nothing and checks almost nothing; the checks of
// prove build on it.
//
// The list covers one call. Every call issues the same operations, since all names of a program mean the same in every call. So
// call k is this list again, with the same streams and memories. Its events are separate, and its flags have sequence numbers
// that are Begun higher than in call k-1. A call begins with CallBegin, in which the caller writes its arguments on its own
// stream. It ends with CallEnd, in which the caller reads the results and overwrites the inputs.
package unroll

import (
	"math"

	"github.com/hirgen/hirgen/calls"
)

// Program lists everything that all ranks issue in one call. Ranks have their numbers in the world, 0, 1, and so on. All other
// things have the same numbers on all ranks.
type Program struct {
	Calls    *calls.Program
	Stmts    []calls.Stmt // by the Stmt of operations: the statements of the program in text order
	Streams  []string     // by the Stream of operations: names of calls.Stream values
	Memories []Memory     // by the Memory of accesses
	Names    []string     // by the Part of accesses: buffers and arguments
	Shares   []Share      // as the program declares them
	Layouts  []*Layout    // by the Layout of accesses; without duplicates
	Comms    []Comm       // by the Comm of parts
	Ranks    []Rank
	Faults   []Fault
}

// Caller is the number of the caller's stream.
const Caller = 0

// Memory is one allocation on each rank that its Guard or mesh includes.
type Memory struct {
	Name  string
	Kind  MemoryKind
	Type  string // element type; empty for workspaces
	Bytes int64  // of one rank; 0 for workspaces, where one byte stands for the whole workspace
	Share int32  // the share through which other ranks access it; -1: none
	Parts int    // how many buffers and arguments lie in it
	Where string // its origin in the spec; empty for arguments
}

// MemoryKind says who owns a memory, and for which purpose.
type MemoryKind uint8

// The kinds of memories.
const (
	Input     MemoryKind = iota // the caller's, read by the program
	Output                      // the caller's, written
	Buffer                      // the program's; a buffer `in` another buffer is part of the same memory
	Workspace                   // of GEMMs on one stream, or of an attention
	Counter                     // of the calls of a share, in a captured program: see Begin
)

// Share is an unrolled share. Its flags have the numbers from FirstFlag on: first the ready flags of all transfers, then the done
// flags.
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

// Rank lists the memories of one rank, and everything that it issues.
type Rank struct {
	Has      []bool // by memory
	Ops      []Op
	Accesses []Access
	Signals  []Signal
	Parts    []Part
	Begun    []int32 // by share: how much a call raises the sequence number
}

// Kind distinguishes operations.
type Kind uint8

// The kinds of operations.
const (
	CallBegin Kind = iota // the caller hands over its arguments, after it wrote inputs and outputs
	CallEnd               // the caller takes them back: it reads outputs and overwrites inputs
	Begin                 // begins the call of a share; in a captured program a kernel on the caller's stream counts it
	Record
	Wait     // waits for the record Arg of this rank; -1: this call has no record before the wait
	Flags    // flag writes or waits, one or a batch
	Copy     // by a copy engine
	Transfer // by SMs: waits for a ready flag, copies, then writes a done flag
	Join     // waits for all transfers of a batch, which run in lanes
	PeerSum
	Nccl // a call, or a group of them
	Gemm
	Attend
	Launch
	Delay
)

// Op is one operation. First it waits for its signals, then it accesses memory, then it sets its signals. Operations of a stream
// run one after the other. Operations with a lane are an exception: they start when everything before the first lane has ended,
// and run at the same time up to the Join.
type Op struct {
	Kind   Kind
	Spins  bool   // waits in a kernel, which occupies SMs meanwhile
	Lane   uint16 // 0: none
	Stream int16
	Waits  uint16 // of Record: how many operations of the call wait for it, up to Many
	Stmt   int32  // -1: none
	Step   int32  // value of the innermost loop; -1: none
	// of Wait: the operation that recorded its event. Record: number of the event. Begin: share. Launch of positions: the first
	Arg      int32
	Accesses Range
	Signals  Range
	Parts    Range
}

// Many is how many waits are counted.
const Many = math.MaxUint16

// Range is a part of a list of the rank.
type Range struct{ First, End int32 }

// Access is a memory access of an operation. Operand numbers the operands of the statement:
//
//	Gemm, Copy, Transfer, Launch, Attend: as in calls/effects
//	PeerSum: 0 out, 1 own, 2 + i the i-th part in the order of issue
//	Nccl: 0 out, 1 in; each part names its accesses
//	CallBegin, CallEnd: the number of the argument
//	Begin, Flags, Transfer, PeerSum: Counting for the counter of a captured share
type Access struct {
	Owner   int32 // rank whose memory it is
	Memory  int32
	Offset  int64 // in bytes
	Layout  int32
	Operand int16
	Write   bool
	Part    int32 // the buffer or argument that names the memory; -1: none
}

// Counting is the operand of accesses to counters.
const Counting = -1

// Signal is a flag that an operation waits for or writes. Sequence is the number of the first call.
type Signal struct {
	Owner    int32 // rank in whose memory the flag is
	Flag     int32 // number of the flag: see Share
	Sequence int32 // 0: the call of the share has not begun
	Write    bool
}

// Part is the contribution of a rank to one NCCL call. Parts are matched in the order of issue: collectives by their Comm; sends
// and receives by Comm, sender and receiver.
type Part struct {
	Kind    PartKind
	Stmt    int32 // the call; its kind, element type and function
	Comm    int32
	Peer    int32 // world rank, of Send and Recv
	Root    int32 // within the team; -1: there is none
	Count   int64 // elements
	In, Out int32 // accesses, by their numbers in the rank; -1: none
}

// PartKind distinguishes parts.
type PartKind uint8

// The kinds of parts.
const (
	Collective PartKind = iota
	Send
	Recv
)

// Fault is an operation that cannot be issued, for example because an offset is outside of its memory, or a flag does not exist.
// Each statement has at most one fault of a kind, on the first rank that has it.
type Fault struct {
	Kind FaultKind
	Rank int32
	Stmt int32 // -1: none
	Step int32
	Text string // a sentence without a final stop
}

// FaultKind names the kind of an error.
type FaultKind string

// The kinds of faults.
const (
	BadValue  FaultKind = "value"   // an expression has no value, or a value out of range
	BadName   FaultKind = "name"    // a name is not declared
	Bounds    FaultKind = "bounds"  // outside of the memory
	NoMemory  FaultKind = "absent"  // the rank does not have the memory
	WrongType FaultKind = "type"    // the memory holds elements of another size
	Unreached FaultKind = "reach"   // a peer that shares nothing with the rank
	Misplaced FaultKind = "nesting" // a statement is not allowed inside its parent
)

// AccessesOf lists the accesses of an operation.
func (r *Rank) AccessesOf(o *Op) []Access { return r.Accesses[o.Accesses.First:o.Accesses.End] }

// SignalsOf lists the signals of an operation.
func (r *Rank) SignalsOf(o *Op) []Signal { return r.Signals[o.Signals.First:o.Signals.End] }

// PartsOf lists the parts of an operation.
func (r *Rank) PartsOf(o *Op) []Part { return r.Parts[o.Parts.First:o.Parts.End] }

// Operations counts the operations of all ranks.
func (p *Program) Operations() int {
	n := 0
	for i := range p.Ranks {
		n += len(p.Ranks[i].Ops)
	}
	return n
}
