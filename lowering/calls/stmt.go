package calls

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Stmt is one statement. The concrete types below are all there is.
type Stmt interface {
	// Meta is what every statement carries.
	Meta() *Info
}

// Info is carried by every statement.
type Info struct {
	Pos   diag.Pos
	Label string // constant that errors report; empty for statements that make no call
	Note  string // what a reader should know: one sentence without a final stop, or empty
	Why   string // of what waits: what it keeps in order, in words; the written form has it not
}

// Meta lets Info serve as the embedded part of each statement.
func (i *Info) Meta() *Info { return i }

// The streams that have names of their own.
const (
	Caller  = "caller"  // the caller's stream
	Copies  = "copy"    // carries all copies between the memories that ranks share
	Compute = "compute" // the compute stream of an iteration, where DeclareStream names it
)

// What issues flag operations and copies that may be one with adjacent ones.
const (
	ByDriver = "driver" // stream memory operations
	ByKernel = "kernel"
)

// Stream names a stream: Caller, Copies, Compute, the stream of a team or, with an Index, a compute
// stream.
type Stream struct {
	Name  string    // of the stream or of the team; empty with an Index
	Team  bool      // Name is a team
	Index expr.Expr // of a compute stream
}

// Event names one event of a set.
type Event struct {
	Set   string
	Index expr.Expr
}

// Pointer is a place in memory: so many elements behind the start of an argument, a buffer or a
// declared pointer or, with a Peer, behind that of a rank's part of a Share.
type Pointer struct {
	Base   string
	Peer   expr.Expr
	Offset expr.Expr // nil: none
}

// Operand is a strided view, as kernels take it.
type Operand struct {
	At               Pointer
	Extents, Strides []expr.Expr // nil: one run of memory
}

// Flag names a flag of a Share: ready, or done, of one transfer.
type Flag struct {
	Share    string
	Done     bool
	Transfer expr.Expr
}

// The statements.
type (
	// EventRecord records an event. With Watch nobody may wait for it but the watchdog.
	EventRecord struct {
		Info
		Event Event
		Watch bool
		On    Stream
	}
	// StreamWait makes a stream wait for an event that was recorded before; the host does not block.
	StreamWait struct {
		Info
		Event Event
		On    Stream
	}
	// FlagWrite writes the sequence number to a flag of a peer. With Kernel it is a kernel's
	// work; within a MemOpBatch it has no stream.
	FlagWrite struct {
		Info
		Flag   Flag
		Peer   expr.Expr
		Kernel bool
		Joins  string // what issues it as one with adjacent statements: see BatchMemoryOperations; empty: it stays alone
		Batch  string // that it is a part of; empty: none
		On     Stream
	}
	// FlagWait makes a stream wait until a peer has written the sequence number to a flag of
	// this rank.
	FlagWait struct {
		Info
		Flag   Flag
		Kernel bool
		Joins  string
		Batch  string
		On     Stream
	}
	// MemOpBatch issues the flag operations of Body, which it holds also in loops, as one; with
	// Copies those are transfers by one kernel.
	MemOpBatch struct {
		Info
		Name   string
		Use    string // "write", "wait", "copy"
		Kernel bool   // not a stream memory operation
		On     Stream
		Body   []Stmt
	}
	// Memcpy copies elements by a copy engine.
	Memcpy struct {
		Info
		Out, In  Pointer
		Elements expr.Expr
		Type     domain.DType
		On       Stream
	}
	// Transfer is a copy between ranks by SMs: one kernel waits for the ready flag of a transfer,
	// copies, and writes the done flag of the peer.
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
	// NcclCall is a call of NCCL, or the sends and receives that make a collective it lacks.
	NcclCall struct {
		Info
		Kind     string // "allgather", ..., "send", "recv": the name of its template
		In, Out  Pointer
		InPlace  bool // the root of a broadcast has no result and receives in its operand
		Writable bool // its operand is not the caller's to keep
		Count    expr.Expr
		Type     domain.DType
		Fn       string    // "sum", ...
		Root     expr.Expr // of rooted collectives
		Peer     expr.Expr // of send and recv
		From, To string    // meshes of a send_recv
		Grouped  bool      // within an NcclGroup, and on its stream
		On       Stream
		Team     string
	}
	// NcclGroup issues NCCL calls together.
	NcclGroup struct {
		Info
		Team string
		On   Stream
		Body []Stmt
	}
	// Gemm is one cuBLASLt call: Out = A B, plus Addend and Bias where they are given.
	Gemm struct {
		Info
		Shape        string // of which it has the plan
		Out, A, B    Pointer
		Addend, Bias *Pointer
		Workspace    expr.Expr // index of the compute stream whose workspace it has; nil: the caller's
		On           Stream
	}
	// Attend is one attention: it writes O and, where they are given, the logarithms of the sums of rows. With
	// GradO it writes the gradients of Q, K and V instead.
	Attend struct {
		Info
		Attention                  string // of which it has the plan
		Q, K, V, O, Logs           Pointer
		GradO, GradQ, GradK, GradV Pointer
		Workspace                  expr.Expr // as a GEMM's
		Room                       Pointer   // the buffer that it works in instead; none where its Base is empty
		On                         Stream
	}
	// Launch launches an elementwise kernel or a reduction: Out = Fn(In...). Kernel positions, without
	// operands, counts from First on. Without Fn it launches one of the program's own, which knows its types:
	// In then begins with the other results, if there are any.
	Launch struct {
		Info
		Kernel   string // "unary", "binary", "reduce", "positions", or a Kernel
		Fn       string `text:"quoted"` // as specs spell it: "gelu", "scale(0.125)"; "copy" for copies and casts
		Axis     int64  // that a reduction folds
		Out      Operand
		In       []Operand
		OutType  domain.DType
		InType   domain.DType
		Elements expr.Expr // where all operands are one run of memory; nil where not. Of a Kernel with Columns: rows
		First    expr.Expr // of positions
		On       Stream
	}
	// Delay keeps a stream idle, so that another one starts first.
	Delay struct {
		Info
		Microseconds int64
		On           Stream
	}
	// PeerSum is a kernel that waits for the ready flags of the transfers of its Body, adds what
	// they name in peer memory to the local partial sum, in fp32 and in rank order, stores the
	// result, and writes the done flags.
	PeerSum struct {
		Info
		Name     string
		Own, Out Pointer
		Elements expr.Expr
		Type     domain.DType
		On       Stream
		Body     []Stmt
	}
	// PeerPart is memory of a peer that a PeerSum reads or, with Store, writes.
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
	// If runs Body where all of its conditions hold, Else otherwise.
	If struct {
		Info
		Cond       expr.Expr // not zero
		Guard      string    // this rank is in one of its meshes
		PeerAccess expr.Expr // that rank is an IPC peer of this one; with InterNode it is none
		InterNode  bool
		Body       []Stmt
		Else       []Stmt
	}
	// Declare names a pointer: Value or, with a Cond that is zero, Else.
	Declare struct {
		Info
		Name  string
		Type  domain.DType
		Const bool // nothing is written through it
		Value Pointer
		Cond  expr.Expr
		Else  Pointer
		Guard string      // of the ranks that have the memory; empty: all
		Shape []expr.Expr // for a comment
	}
	// Let names a number: an expression or, with a Mesh, this rank's coordinate along an axis or
	// the rank At a coordinate.
	Let struct {
		Info
		Name  string
		Value expr.Expr
		Mesh  string
		Axis  int64
		At    expr.Expr
	}
	// DeclareStream names a compute stream or, without an index, that of all copies.
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

// statements has one of each kind.
var statements = []Stmt{
	(*EventRecord)(nil), (*StreamWait)(nil), (*FlagWrite)(nil), (*FlagWait)(nil), (*MemOpBatch)(nil), (*Memcpy)(nil), (*Transfer)(nil),
	(*NcclCall)(nil), (*NcclGroup)(nil), (*Gemm)(nil), (*Attend)(nil), (*Launch)(nil), (*Delay)(nil), (*PeerSum)(nil), (*PeerPart)(nil), (*For)(nil),
	(*If)(nil), (*Declare)(nil), (*Let)(nil), (*DeclareStream)(nil), (*BeginCall)(nil),
}
