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
	"github.com/hirgen/hirgen/calls/issue"
)

// Program lists everything that all ranks issue in one call. Ranks have their numbers in the world, 0, 1, and so on. All other
// things have the same numbers on all ranks.
type Program struct {
	*issue.World              // streams, memories, shares and communicators, by their numbers
	Stmts        []calls.Stmt // by the Stmt of operations: the statements of the program in text order
	Layouts      []*Layout    // by the Layout of accesses; without duplicates
	Ranks        []Rank
	Faults       []Fault
}

// Library names the library that carries a part.
func (p *Program) Library(part Part) string { return p.Comms()[part.Comm].Team.Library() }

// Rank lists the memories of one rank, and everything that it issues.
type Rank struct {
	Has      []bool // whether the rank has the memory, by memory
	Ops      []Op
	Accesses []Access
	Signals  []issue.Signal
	Parts    []Part
	Begun    []int32 // by share: how much a call raises the sequence number
}

// Kind distinguishes operations.
type Kind uint8

// The kinds of operations.
const (
	CallBegin Kind = iota // the call begins, after the caller has written inputs and outputs
	CallEnd               // the call ends: the caller reads outputs and overwrites inputs
	Begin                 // begins the call of a share; in a captured program a kernel on the caller's stream counts it
	Record
	Wait     // waits for the record Arg of this rank; -1: this call has no record before the wait
	Flags    // flag writes or waits, one or a batch
	Copy     // a cudaMemcpyAsync or, in a RowExchange or with a lane, a copy by a kernel
	Transfer // a copy by SMs, which waits for a ready flag, copies, then writes a done flag
	Join     // waits for all copies of a batch, which run in lanes
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
	Lane   uint16 // number of a copy among the concurrent copies of its batch, from 1; 0: none
	Stream int16
	Waits  uint16 // of Record: how many operations of the call wait for it, up to Many
	Stmt   int32  // -1: none
	Step   int32  // value of the innermost loop's variable; -1: outside of loops
	// of Wait: the operation that recorded its event. Record: the event's number. Begin: share. Launch of positions:
	// the first position. Otherwise -1
	Arg      int32
	Accesses Range
	Signals  Range
	Parts    Range
}

// Many is the largest number of waits that is counted.
const Many = math.MaxUint16

// Range has the indices from First up to End, which is not included, in a list of the rank.
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
	Part    int32 // number of the issue.Span through which the operation accesses the memory; -1: none
}

// Counting is the operand of accesses to counters.
const Counting = -1

// Part is a part of an NCCL call, with its accesses.
type Part struct {
	issue.Part
	Stmt    int32 // the NCCL call, which has the kind, the element type and the reduction
	In, Out int32 // indices in Rank.Accesses; -1: none
}

// Fault is an operation that cannot be issued, for example because an offset is outside of its memory, or a flag does not exist.
// Each statement has at most one fault of a kind, on the first rank that has it.
type Fault struct {
	Kind issue.FaultKind
	Rank int32
	Stmt int32 // -1: none
	Step int32
	Text string // a sentence without a final stop
}

// AccessesOf lists the accesses of an operation.
func (r *Rank) AccessesOf(o *Op) []Access { return r.Accesses[o.Accesses.First:o.Accesses.End] }

// SignalsOf lists the signals of an operation.
func (r *Rank) SignalsOf(o *Op) []issue.Signal { return r.Signals[o.Signals.First:o.Signals.End] }

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
