package calls

import (
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Stmt is one statement. This file defines all of them.
type Stmt interface {
	// Meta returns the Info.
	Meta() *Info
}

// Info is common to all statements.
type Info struct {
	Pos   diag.Pos
	Label string // constant that errors report; empty for statements without a call
	Note  string // printed as a comment, without a final stop; empty: none
	Why   string // the order that a wait keeps, in words; empty: not said. It is not part of the text form
	Part  string // the communication that the statement belongs to, in words; empty: none. It is not part of the text form
}

// Meta implements Stmt for each type that embeds Info.
func (i *Info) Meta() *Info { return i }

// Names of streams.
const (
	Caller  = "caller"  // the caller's stream
	Copies  = "copy"    // the stream of copies between memories that ranks share
	Compute = "compute" // the compute stream of an iteration, which DeclareStream names; in a Step, all of them
)

// How flag operations and copies are issued if they can be merged with adjacent ones.
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

// Pointer is a place in memory: Offset elements after the start of an argument, a buffer or a declared pointer. With a Peer, it
// is relative to the start of that rank's part of a Share.
type Pointer struct {
	Base   string
	Peer   expr.Expr
	Offset expr.Expr // nil: 0
}

// Operand is a strided view that a kernel accesses.
type Operand struct {
	At               Pointer
	Extents, Strides []expr.Expr // nil Strides: contiguous; Strides without Extents: Out has the extents
}

// Flag is a reference to a flag of a Share: the ready flag, or with Done the done flag, of one transfer.
type Flag struct {
	Share    string
	Done     bool
	Transfer expr.Expr
}

// The statements.
type (
	// EventRecord records an event. With Watch, only the watchdog may wait for it. With Last, only the last iteration's event is
	// waited for, which is for a comment.
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
	// FlagWrite writes the sequence number to a flag of a peer. With Kernel a kernel writes it. Within a MemOpBatch it has no
	// stream, within a RowExchange it has one.
	FlagWrite struct {
		Info
		Flag   Flag
		Peer   expr.Expr
		Kernel bool
		Joins  string // how batch-memory-operations may merge it with adjacent statements: ByDriver or ByKernel; empty: not at all
		Batch  string // the MemOpBatch or RowExchange that it is part of; empty: none
		On     Stream
	}
	// FlagWait makes a stream wait until a peer has written the sequence number to a flag of this rank.
	FlagWait struct {
		Info
		Flag   Flag
		Kernel bool
		Joins  string
		Batch  string
		On     Stream
	}
	// MemOpBatch issues all flag operations of Body, including those in loops, as one operation. If Use is "copy", Body has
	// transfers, and one kernel runs them.
	MemOpBatch struct {
		Info
		Name   string
		Use    string // "write", "wait", "copy"
		Kernel bool   // a kernel, not a stream memory operation
		On     Stream
		Body   []Stmt
	}
	// Memcpy copies elements with cudaMemcpyAsync or, within a RowExchange, with its kernel.
	Memcpy struct {
		Info
		Out, In  Pointer
		Elements expr.Expr
		Type     domain.DType
		Batch    string // the RowExchange that it is part of; empty: none
		On       Stream
	}
	// Transfer is a copy between ranks by SMs. One kernel waits for the ready flag of a transfer, copies, and writes the done
	// flag of the peer.
	Transfer struct {
		Info
		Out, In  Pointer
		Elements expr.Expr
		Type     domain.DType
		Share    string
		Peer     expr.Expr
		Transfer expr.Expr
		Joins    string
		Batch    string
		On       Stream
	}
	// NcclCall is a call of NCCL or of the library that its Team names with Via, or the sends and receives that implement a collective
	// that NCCL lacks.
	NcclCall struct {
		Info
		Kind     string // "allgather", ..., "send", "recv"
		In, Out  Pointer
		InPlace  bool // the root of a broadcast has no result and receives in its operand
		Writable bool // the operand may be overwritten
		Count    expr.Expr
		Type     domain.DType
		Fn       string    // "sum", ...; empty: no reduction
		Root     expr.Expr // of rooted collectives
		Peer     expr.Expr // of send and recv
		From, To string    // meshes of a send_recv
		Grouped  bool      // within an NcclGroup, and on its stream
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
	// Gemm is one GEMM by cuBLASLt: Out = A B, plus Addend and Bias if they are set, with the function Then of its Shape applied at the end.
	Gemm struct {
		Info
		Shape        string // the Shape with its plan
		Out, A, B    Pointer
		Addend, Bias *Pointer
		// the scales of blocks of A and B, row-major in fp32: [m, k / domain.BlockRow] and [n / domain.BlockRow, k / domain.BlockRow]
		ScalesA, ScalesB *Pointer
		Workspace        expr.Expr // index of the compute stream whose workspace it uses; nil: the caller's stream
		On               Stream
	}
	// Attend is one attention. It writes O and, if Logs is set, the log-sum-exp of the scores of each row. With GradO it writes the
	// gradients of Q, K and V instead.
	Attend struct {
		Info
		Attention                  string // the Attention with its plan
		Q, K, V, O, Logs           Pointer
		GradO, GradQ, GradK, GradV Pointer
		Workspace                  expr.Expr // as in Gemm
		Scratch                    Pointer   // scratch memory that it uses in place of the workspace; an empty Base: none
		On                         Stream
	}
	// Launch launches an elementwise kernel or a reduction: Out = Fn(In...). The kernel positions has no operands, and counts
	// from First on. The kernel gather takes rows of its first operand, along axis 0. The second has their numbers, of the
	// type Fn. A third has the number of the first row, which the kernel subtracts. The kernel top_k selects the largest elements of
	// the rows of its operand, along the last axis; the first of In is its second result: their positions, of the type Fn. Without Fn,
	// except for positions, it launches a Kernel of the program, which defines its types. Then In begins with the additional results,
	// if there are any.
	Launch struct {
		Info
		Kernel   string // "unary", "binary", "reduce", "positions", "gather", "top_k", or a Kernel
		Fn       string `text:"quoted"` // as in specs: "gelu", "scale(0.125)"; "copy" for copies and casts; a type for gather and top_k
		Axis     int64  // the axis that a reduction reduces
		Out      Operand
		In       []Operand
		OutType  domain.DType
		InType   domain.DType
		Elements expr.Expr // if all operands are contiguous; nil otherwise. For a Kernel with Columns: rows
		First    expr.Expr // for positions
		Batch    string    // the RowExchange that it is part of; empty: none
		On       Stream
	}
	// RowExchange is one kernel that runs all statements of Body, row by row: the FlagWrites, Transfers and FlagWaits of a Share, and
	// maybe a Launch of a Kernel at the end. Ranks send each other Rows rows, which the Kernel or later statements read. If the local
	// rows are not yet in the memory of the received rows, Body copies them there with a Memcpy before the FlagWaits. The Kernel
	// computes a row as soon as that row of every rank has arrived.
	RowExchange struct {
		Info
		Name  string
		Share string
		Rows  expr.Expr
		Row   expr.Expr // elements of a row
		Type  domain.DType
		Body  []Stmt
	}
	// Delay keeps a stream idle, so that another stream starts first.
	Delay struct {
		Info
		Microseconds int64
		On           Stream
	}
	// PeerSum is a kernel that adds parts in peer memory to the local partial sum, in fp32 and in rank order. It stores the result
	// in Out and in the parts with Store. It waits for the ready flag of each part, and writes the done flag.
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
		Sum      string
		Store    bool
		At       Pointer
		Elements expr.Expr
		Share    string
		Peer     expr.Expr
		Transfer expr.Expr
	}
	// For runs Body for Var = First .. Count-1.
	For struct {
		Info
		Var   string
		First int64
		Count expr.Expr
		Body  []Stmt
	}
	// If runs Body if all of its conditions hold, and Else otherwise.
	If struct {
		Info
		Cond       expr.Expr // holds if it is not zero
		Guard      string    // holds if this rank is in one of the guard's meshes
		PeerAccess expr.Expr // holds if that rank is an IPC peer of this rank; with InterNode, if it is not
		InterNode  bool
		Body       []Stmt
		Else       []Stmt
	}
	// Declare names a pointer: Value, or Else if Cond is zero.
	Declare struct {
		Info
		Name  string
		Type  domain.DType
		Const bool // the program does not write through it
		Value Pointer
		Cond  expr.Expr
		Else  Pointer
		Guard string      // the ranks that have the memory; empty: all
		Shape []expr.Expr // for a comment
	}
	// Let names a number: an expression or, with a Mesh, this rank's coordinate along an axis or the rank At a coordinate. With
	// neither, it names this rank.
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
	// BeginCall counts a call of a Share, and exchanges its handles if the pointer is new.
	BeginCall struct {
		Info
		Share string
	}
)

// statements has one nil pointer for each statement type.
var statements = []Stmt{
	(*EventRecord)(nil), (*StreamWait)(nil), (*FlagWrite)(nil), (*FlagWait)(nil), (*MemOpBatch)(nil), (*Memcpy)(nil), (*Transfer)(nil),
	(*NcclCall)(nil), (*NcclGroup)(nil), (*Gemm)(nil), (*Attend)(nil), (*Launch)(nil), (*Delay)(nil), (*PeerSum)(nil), (*PeerPart)(nil),
	(*RowExchange)(nil), (*For)(nil),
	(*If)(nil), (*Declare)(nil), (*Let)(nil), (*DeclareStream)(nil), (*BeginCall)(nil),
}
