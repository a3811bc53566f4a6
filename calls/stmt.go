package calls

import (
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Stmt is one statement. This file defines all types of statements.
type Stmt interface {
	// Meta returns the Info.
	Meta() *Info
}

// Info is the part that all statements have.
type Info struct {
	Pos   diag.Pos
	Label string // constant with the text for error reports; empty for statements without a call of their own
	Note  string // printed as a comment, without a final full stop; empty: none
	Why   string // the order that a wait ensures, in words; empty: none given. It is not part of the text form
	Part  string // the communication that the statement belongs to, in words; empty: none. It is not part of the text form
}

// Meta implements Stmt for each type that embeds Info.
func (i *Info) Meta() *Info { return i }

// TransfersWait is the note on a record of the caller's stream for which transfers wait. Passes on host programs and on calls
// write it, and the pass explain-starts extends or replaces it.
const TransfersWait = "transfers below wait for the caller's earlier work, which may use their buffers"

// Names of streams.
const (
	Caller  = "caller"  // the caller's stream
	Copies  = "copy"    // the stream of copies between memories that ranks share
	Compute = "compute" // the compute stream of an iteration, which DeclareStream names; in a Step, all of them
)

// MostCopies is the largest number of Memcpys that one kernel runs: kMostCopies of hirgen::CopyKernel.
const MostCopies = 16

// Values of Joins: how flag operations and copies are issued if they are merged with adjacent ones.
const (
	ByDriver = "driver" // stream memory operations
	ByKernel = "kernel"
)

// Stream is a reference to a stream: Caller, Copies, Compute, the stream of a team or, with an Index, a compute stream.
type Stream struct {
	Name  string    // of the stream or of the team; empty with an Index
	Team  bool      // Name is a team
	Index expr.Expr // number of a compute stream
}

// Event is a reference to one event of a set.
type Event struct {
	Set   string
	Index expr.Expr
}

// Pointer is an address: Offset elements after the start of an argument, a buffer or a declared pointer. With a Peer,
// Base is a Share, and the address is relative to the start of its memory on that rank.
type Pointer struct {
	Base   string
	Peer   expr.Expr // world rank; nil: memory of this rank
	Offset expr.Expr // nil: 0
}

// Operand is a strided view of memory that a kernel accesses. Strides are in elements.
type Operand struct {
	At               Pointer
	Extents, Strides []expr.Expr // nil Strides: contiguous; Strides without Extents: Out has the extents
}

// Flag is a reference to a flag of a Share: the ready flag or, with Done, the done flag of one transfer.
type Flag struct {
	Share    string
	Done     bool
	Transfer expr.Expr // number of the transfer, from 0
}

// The statements.
type (
	// EventRecord records an event. With Watch, only the watchdog may wait for it. With Last, the program waits only
	// for the event of the last iteration, which a comment says.
	EventRecord struct {
		Info
		Event Event
		Watch bool
		Last  bool
		On    Stream
	}
	// StreamWait makes a stream wait for an event that was recorded before. The host does not block.
	StreamWait struct {
		Info
		Event Event
		On    Stream
	}
	// FlagWrite writes the sequence number of the call to a flag of a peer. With Kernel, a kernel writes the flag. Without
	// Kernel and Batch, a stream memory operation does. Within a MemOpBatch it has no stream; within a RowExchange it has one.
	FlagWrite struct {
		Info
		Flag   Flag
		Peer   expr.Expr
		Kernel bool
		Joins  string // how batch-memory-operations may merge it with adjacent statements: ByDriver or ByKernel; empty: not at all
		Batch  string // the MemOpBatch or RowExchange that it is part of; empty: none
		On     Stream
	}
	// FlagWait makes a stream wait until a peer has written the sequence number of the call to a flag of this rank.
	FlagWait struct {
		Info
		Flag   Flag
		Kernel bool
		Joins  string // this and Batch: as in FlagWrite
		Batch  string
		On     Stream
	}
	// MemOpBatch issues all flag operations of Body, including its loops, as one operation. If Use is "copy", Body has
	// Transfers, and one kernel runs all of them at the same time. If Use is "memcpy", Body has up to MostCopies Memcpys
	// without streams, and one kernel runs these.
	MemOpBatch struct {
		Info
		Name   string
		Use    string // what Body does: "write", "wait", "copy" or "memcpy"
		Kernel bool   // a kernel issues the operations, not a batch of stream memory operations
		On     Stream
		Body   []Stmt
	}
	// Memcpy copies elements with cudaMemcpyAsync or, within a MemOpBatch or a RowExchange, with its kernel.
	Memcpy struct {
		Info
		Out, In  Pointer
		Elements expr.Expr
		Type     domain.DType
		Batch    string // as in FlagWrite
		On       Stream
	}
	// Transfer is a copy between ranks by SMs. One kernel waits for the ready flag of the transfer, copies, and writes
	// the peer's done flag.
	Transfer struct {
		Info
		Out, In  Pointer
		Elements expr.Expr
		Type     domain.DType
		Share    string
		Peer     expr.Expr
		Transfer expr.Expr
		Joins    string // this and Batch: as in FlagWrite
		Batch    string
		On       Stream
	}
	// NcclCall is a call of NCCL, or of the library that Via of its Team names. It may also be the sends and receives
	// of a collective for which NCCL has no function.
	NcclCall struct {
		Info
		Kind     string // "allgather", ..., "send", "recv"
		In, Out  Pointer
		InPlace  bool      // the root of a broadcast has no result, so its operand is also the receive buffer
		Writable bool      // the call may overwrite the operand
		Count    expr.Expr // elements in a slice (collective.Form.Slices)
		Type     domain.DType
		Fn       string    // "sum", ...; empty: no reduction
		Root     expr.Expr // the root's position in the team, for rooted collectives
		Peer     expr.Expr // world rank of the peer, for send and recv
		From, To string    // the meshes of a send_recv
		Grouped  bool      // it is within an NcclGroup, and runs on the group's stream
		On       Stream
		Team     string
	}
	// NcclGroup issues NCCL calls as a group.
	NcclGroup struct {
		Info
		Team string
		On   Stream
		Body []Stmt
	}
	// Gemm is one GEMM by cuBLASLt: Out = Then(A B + Addend + Bias), where Then is the function of its Shape, and
	// Addend and Bias are optional.
	Gemm struct {
		Info
		Shape        string // the Shape with its plan
		Out, A, B    Pointer
		Addend, Bias *Pointer
		// scales of the blocks of A and B, row-major in fp32: [m, k / domain.BlockRow] and [n / domain.BlockRow, k /
		// domain.BlockRow]. With RowScales of the Shape, there is one for each row of A, and one for each column of B
		ScalesA, ScalesB *Pointer
		Workspace        expr.Expr // index of the compute stream whose workspace is used; nil: the caller's stream
		On               Stream
	}
	// Attend is one attention. It writes O and, if Logs is set, the log-sum-exp of the scores of each row. With GradO
	// it writes the gradients of Q, K and V instead.
	Attend struct {
		Info
		Attention                  string // the Attention with its plan
		Q, K, V, O, Logs           Pointer
		GradO, GradQ, GradK, GradV Pointer
		Workspace                  expr.Expr // as in Gemm
		Scratch                    Pointer   // scratch memory to use in place of the workspace; an empty Base: none
		On                         Stream
	}
	// Launch launches a kernel of the runtime, Out = Fn(In...), or a Kernel of the program, which has no Fn, and
	// defines its types itself. In then begins with additional results, if there are any. Three kernels of the runtime
	// are special. positions has no operands and no Fn, and stores First, First + 1, and so on. gather copies rows of
	// its first operand, along axis 0. The second operand has the numbers of these rows, of type Fn; an optional third
	// has a number that is subtracted from them. top_k selects the largest elements along the last axis of its operand;
	// the first of In is a second result with their positions, of type Fn.
	Launch struct {
		Info
		Kernel   string // name of a kernel of the runtime ("unary", "binary", "reduce", "positions", "gather", "top_k") or of a Kernel
		Fn       string `text:"quoted"` // as in specs: "gelu", "scale(0.125)"; "copy" for copies and casts; an integer type for gather and top_k
		Axis     int64  // the axis that a reduction reduces
		Out      Operand
		In       []Operand
		OutType  domain.DType
		InType   domain.DType
		Elements expr.Expr // number of elements if all operands are contiguous, otherwise nil; for a Kernel with Columns, number of rows
		First    expr.Expr // for positions: the first value
		Batch    string    // the RowExchange that it is part of; empty: none
		On       Stream
	}
	// RowExchange is one kernel that runs all statements of Body row by row: the FlagWrites, Transfers and FlagWaits of
	// a Share, and possibly a Launch of a Kernel at the end. Ranks send each other Rows rows, which the Kernel or later
	// statements read. If the local rows are not yet in the memory for received rows, Body copies them there with a
	// Memcpy before the FlagWaits. The Kernel computes a row as soon as this row of every rank has arrived.
	RowExchange struct {
		Info
		Name  string
		Share string
		Rows  expr.Expr
		Row   expr.Expr // elements of a row
		Type  domain.DType
		Body  []Stmt
	}
	// Delay keeps a stream idle for some time, so that the work of another stream starts first.
	Delay struct {
		Info
		Microseconds int64
		On           Stream
	}
	// PeerSum is a kernel that adds parts in peer memory to the local partial sum Own, in fp32 and in rank order. It
	// stores the result in Out, and in the parts with Store. It waits for the ready flag of each part, and writes the
	// done flag. Body has its PeerParts.
	PeerSum struct {
		Info
		Name     string
		Own, Out Pointer
		Elements expr.Expr
		Type     domain.DType
		On       Stream
		Body     []Stmt
	}
	// PeerPart is peer memory that a PeerSum reads or, with Store, writes.
	PeerPart struct {
		Info
		Sum      string // Name of the PeerSum
		Store    bool
		At       Pointer
		Elements expr.Expr
		Share    string
		Peer     expr.Expr
		Transfer expr.Expr
	}
	// For runs Body for each value of Var from First to Count - 1.
	For struct {
		Info
		Var   string
		First int64
		Count expr.Expr
		Body  []Stmt
	}
	// If runs Body if all conditions that are set hold, and Else otherwise.
	If struct {
		Info
		Cond       expr.Expr // holds if it is not zero
		Guard      string    // holds if this rank is in one of the guard's meshes
		PeerAccess expr.Expr // a rank; holds if it is an IPC peer of this rank or, with InterNode, if it is not
		InterNode  bool
		Body       []Stmt
		Else       []Stmt
	}
	// Declare names a pointer: Value or, if Cond is zero, Else. Without Cond it is Value.
	Declare struct {
		Info
		Name  string
		Type  domain.DType
		Const bool // the program does not write through it
		Value Pointer
		Cond  expr.Expr
		Else  Pointer
		Guard string      // the Guard for the ranks that have the memory; empty: all
		Shape []expr.Expr // extents of the axes, outermost first, for a comment
	}
	// Let names a number: the Value of an expression or, with a Mesh, this rank's coordinate along Axis. With At, it is
	// the rank at that coordinate of the axis. With neither Value nor Mesh, it is this rank.
	Let struct {
		Info
		Name  string
		Value expr.Expr
		Mesh  string
		Axis  int64
		At    expr.Expr
	}
	// DeclareStream names a compute stream or, without an index, the copy stream.
	DeclareStream struct {
		Info
		Name  string
		Index expr.Expr
	}
	// BeginCall begins a call of a Share: the host counts the call or, in a CUDA graph, a kernel does (Counts). If the
	// pointer of the caller's memory is new, the ranks also exchange the handles again.
	BeginCall struct {
		Info
		Share  string
		Counts []string // shares whose calls a kernel counts now, in a CUDA graph
	}
)

// statements has one nil pointer for each statement type.
var statements = []Stmt{
	(*EventRecord)(nil), (*StreamWait)(nil), (*FlagWrite)(nil), (*FlagWait)(nil), (*MemOpBatch)(nil), (*Memcpy)(nil), (*Transfer)(nil),
	(*NcclCall)(nil), (*NcclGroup)(nil), (*Gemm)(nil), (*Attend)(nil), (*Launch)(nil), (*Delay)(nil), (*PeerSum)(nil), (*PeerPart)(nil),
	(*RowExchange)(nil), (*For)(nil),
	(*If)(nil), (*Declare)(nil), (*Let)(nil), (*DeclareStream)(nil), (*BeginCall)(nil),
}
