// Package hostir is the host IR: the program that one process per GPU runs on the
// host, one statement a line. Passes rewrite it; the emitter prints it.
//
// The program is the same text on every rank (the ranks differ by the scalar
// "rank" and by the meshes they are in). Statements are issued in order; what they
// start runs on the current stream. Synchronize and Wait order streams and never
// block the host.
package hostir

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Program is one host program with the tensors that it names.
type Program struct {
	Name    string
	File    string // the spec that it comes from, for positions
	Params  []Param
	Meshes  []*domain.Mesh // the first one is the world
	Tensors []*Tensor      // inputs, then outputs, then the rest in order of first use
	Streams int            // number of worker streams
	Choices Choices        // what the passes are asked for
	// Reference is the model's operations in order, on whole tensors: what the
	// emitted program checks itself against. Passes leave it alone.
	Reference []RefOp
	Body      []Stmt
}

// RefOp is one operation of the model. Names are those of the model's tensors.
type RefOp struct {
	Kind  string // as specs spell it: "matmul", "unary", ...
	Fn    string // of a unary, binary or reduce operation
	Out   string
	In    []string
	Axis  int          // reduce, broadcast: the logical axis
	Perm  []int        // permute
	Shape []int64      // the logical shape of Out, without reduced axes
	DType domain.DType // of Out
	Pos   diag.Pos
}

// Param is a named integer of the spec.
type Param struct {
	Name  string
	Value int64
}

// Choices is the schedule as the passes see it; see model.Schedule.
type Choices struct {
	Pipeline  string // "collective"
	Transport string // "nccl"
	Reshard   string // "before", "after"
	Sync      string // "split", "fused"
	Joins     string // "body", "after"
	Buffers   string // "keep": stay allocated from call to call; "free": live as long as needed
	Graph     bool
}

// Role says who owns the buffer of a tensor.
type Role int

// The roles of a tensor.
const (
	Temp   Role = iota // allocated by the program
	Input              // the caller's, read only
	Output             // the caller's, written
	View               // a slice of another tensor: Select's result
)

// Tensor is a named tensor. Axes holds the logical domain; the buffer of one rank
// holds Axis.LocalSize elements of each axis, laid out in the order of Layout. The
// layout of a View is the order in which it steps through its operand's buffer.
type Tensor struct {
	Name   string
	DType  domain.DType
	Axes   []domain.Axis
	Mesh   *domain.Mesh
	Role   Role
	Layout []int // logical axes from outermost to innermost; nil means the logical order
	// Inferred says that the user left the axes to the passes: they may shard them.
	Inferred bool
	Pos      diag.Pos
}

// Stmt is one statement. The concrete types below are all there is.
type Stmt interface {
	// Op is the statement's name in the text and JSON forms.
	Op() string
	// Meta is what every statement carries.
	Meta() *Info
}

// Info is carried by every statement: where it comes from in the spec, and, when a
// pass added it, why.
type Info struct {
	Pos  diag.Pos
	Note string // one sentence without a final stop, or empty
}

// Meta lets Info serve as the embedded part of each statement.
func (i *Info) Meta() *Info { return i }

// StreamRef names a stream: a variable that GetCurrentStream defined, or the
// worker stream with the given index.
type StreamRef struct {
	Var   string    // "caller"; empty for a worker
	Index expr.Expr // worker index; nil when Var is set
}

// The statements.
type (
	// Allocate makes the buffer of a tensor. The buffer of an Output is the
	// caller's: the statement binds it.
	Allocate struct {
		Info
		Tensor *Tensor
	}
	// Deallocate ends the life of a Temp's buffer.
	Deallocate struct {
		Info
		Tensor *Tensor
	}
	// GetCurrentStream names the stream that is current: the caller's.
	GetCurrentStream struct {
		Info
		Var string
	}
	// SetCurrentStream makes a stream current for the statements that follow.
	SetCurrentStream struct {
		Info
		Stream StreamRef
	}
	// Synchronize makes the current stream wait for all that was issued to Stream.
	Synchronize struct {
		Info
		Stream StreamRef
	}
	// For runs Body for Var = 0 .. Count-1.
	For struct {
		Info
		Var   string
		Count domain.Extent
		Body  []Stmt
	}
	// If runs Body when Cond is not zero, Else otherwise.
	If struct {
		Info
		Cond expr.Expr
		Body []Stmt
		Else []Stmt
	}
	// Select makes Out a view of In with Axis fixed at Index. A Device axis of In
	// has one local slice: its index is 0.
	Select struct {
		Info
		Out, In *Tensor
		Axis    int // logical axis of In
		Index   expr.Expr
	}
	// Set copies In to Out on one rank. Before convert-to-communications it may
	// also reshard: its operands' domains then say what has to move.
	Set struct {
		Info
		Out, In *Tensor
	}
	// Matmul is Out[..., m, n] = A[..., m, k] B[k, n]; batched when B has batch axes.
	Matmul struct {
		Info
		Out, A, B *Tensor
	}
	// Linear is Out[..., n] = X[..., k] W[n, k]^T + Bias[n]; Bias may be nil.
	Linear struct {
		Info
		Out, X, W, Bias *Tensor
	}
	// Broadcast adds an axis of one element: the logical axis Axis of Out.
	Broadcast struct {
		Info
		Out, In *Tensor
		Axis    int
	}
	// Permute makes axis i of Out axis Perm[i] of In; both count without reduced axes.
	Permute struct {
		Info
		Out, In *Tensor
		Perm    []int
	}
	// Reshape keeps the elements of In in row-major order.
	Reshape struct {
		Info
		Out, In *Tensor
	}
	// Unary is Out = Fn(In), element by element.
	Unary struct {
		Info
		Fn      string
		Out, In *Tensor
	}
	// Binary is Out = Fn(A, B), element by element, broadcasting as NumPy does.
	Binary struct {
		Info
		Fn        string
		Out, A, B *Tensor
	}
	// Cast converts In to the element type of Out.
	Cast struct {
		Info
		Out, In *Tensor
	}
	// Reduce folds the logical axis Axis of In with Fn on one rank; accumulation is
	// fp32. Before convert-to-communications the axis may also be a Device axis. Out
	// lists the axis as r or not at all.
	Reduce struct {
		Info
		Fn      string
		Out, In *Tensor
		Axis    int
	}
	// Communication is a collective over the team of a mesh axis.
	Communication struct {
		Info
		Handle   string // what Wait names
		Type     CommType
		Mesh     *domain.Mesh
		MeshAxis string    // the team is the ranks along this axis
		Root     expr.Expr // team rank; nil where there is none
		ReduceFn string    // "sum", "max", "min", "prod", or empty
		Out, In  *Tensor
		Backend  Backend
	}
	// P2PCommunication sends Buffer to a peer or receives it from one.
	P2PCommunication struct {
		Info
		Handle  string
		Send    bool
		Buffer  *Tensor
		Peer    expr.Expr // world rank
		Backend Backend
	}
	// StartCoalescing opens a group of communications that progress together.
	StartCoalescing struct{ Info }
	// EndCoalescing closes the group.
	EndCoalescing struct {
		Info
		Handle string
	}
	// Wait makes the current stream wait for a communication or a group.
	Wait struct {
		Info
		Handle string
	}
	// ShareMemHandles exchanges the CUDA IPC handles of the buffers named, once.
	ShareMemHandles struct {
		Info
		Comms []string // handles of the P2P communications
	}
)

// CommType is the type of a Communication.
type CommType string

// The types of communication.
const (
	Allgather     CommType = "Allgather"
	Gather        CommType = "Gather"
	Scatter       CommType = "Scatter"
	Reduction     CommType = "Reduce"
	Allreduce     CommType = "Allreduce"
	ReduceScatter CommType = "ReduceScatter"
	BroadcastComm CommType = "Broadcast"
	SendRecv      CommType = "SendRecv"
	AllToAll      CommType = "AllToAll"
)

// Backend is what carries a communication.
type Backend string

// The backends. None stands until assign-transport has run.
const (
	None   Backend = ""
	NCCL   Backend = "NCCL"
	IPCGet Backend = "IPC-get"
	IPCPut Backend = "IPC-put"
)

// Op names, one per statement type.
func (*Allocate) Op() string         { return "Allocate" }
func (*Deallocate) Op() string       { return "Deallocate" }
func (*GetCurrentStream) Op() string { return "GetCurrentStream" }
func (*SetCurrentStream) Op() string { return "SetCurrentStream" }
func (*Synchronize) Op() string      { return "Synchronize" }
func (*For) Op() string              { return "For" }
func (*If) Op() string               { return "If" }
func (*Select) Op() string           { return "Select" }
func (*Set) Op() string              { return "Set" }
func (*Matmul) Op() string           { return "Matmul" }
func (*Linear) Op() string           { return "Linear" }
func (*Broadcast) Op() string        { return "Broadcast" }
func (*Permute) Op() string          { return "Permute" }
func (*Reshape) Op() string          { return "Reshape" }
func (*Unary) Op() string            { return "Unary" }
func (*Binary) Op() string           { return "Binary" }
func (*Cast) Op() string             { return "Cast" }
func (*Reduce) Op() string           { return "Reduce" }
func (*Communication) Op() string    { return "Communication" }
func (*P2PCommunication) Op() string { return "P2PCommunication" }
func (*StartCoalescing) Op() string  { return "StartCoalescing" }
func (*EndCoalescing) Op() string    { return "EndCoalescing" }
func (*Wait) Op() string             { return "Wait" }
func (*ShareMemHandles) Op() string  { return "ShareMemHandles" }
