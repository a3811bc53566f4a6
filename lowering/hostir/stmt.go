package hostir

import (
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Stmt is one statement. This file, fused.go and attention.go define all statements of the host IR. Fields explains the tags.
type Stmt interface {
	// Meta returns the Info.
	Meta() *Info
}

// Info is common to all statements.
type Info struct {
	Pos  diag.Pos
	Note string    // the reason for the statement, a phrase without a full stop; or empty
	On   StreamRef // the stream that it is issued to; unused in a For, If, Allocate or GetCurrentStream
	Why  string    // reason for a wait, or what a transfer depends on (edges), in words; not part of the text form
	Need *Need     // why ranks communicate, or nil; not part of the text form
}

// Meta implements Stmt for each type that embeds Info.
func (i *Info) Meta() *Info { return i }

// InfoFrom returns the Info of a statement that a pass derives from s, with the position and the Need of s. The note is the reason.
// The stream is the caller's.
func InfoFrom(s Stmt, note string) Info {
	return Info{Pos: s.Meta().Pos, Note: note, Need: s.Meta().Need}
}

// The statements.
type (
	// Allocate makes the buffer of a tensor. For an Output it binds the caller's buffer.
	Allocate struct {
		Info
		Tensor *Tensor `text:"="`
	}
	// Delay keeps its stream idle for a number of microseconds, so that work on another stream starts first.
	Delay struct {
		Info
		Microseconds int64
	}
	// Deallocate ends the lifetime of a Temp's buffer.
	Deallocate struct {
		Info
		Tensor *Tensor
	}
	// GetCurrentStream names the stream that is current when the program is called: Caller.
	GetCurrentStream struct{ Info }
	// Synchronize makes the stream that it is issued to wait for all work issued to Stream so far.
	Synchronize struct {
		Info
		Stream StreamRef
	}
	// For runs Body for Var = First .. Count-1.
	For struct {
		Info
		Var   string
		First int64 `text:"?"`
		Count domain.Extent
		Body  []Stmt
	}
	// If runs Body if Cond is not zero, and Else otherwise.
	If struct {
		Info
		Cond expr.Expr
		Body []Stmt
		Else []Stmt
	}
	// Either makes Out the same view as Then if Cond is not zero, and the same view as Else otherwise. Then and Else have the
	// name of Out, and are not in Program.Tensors.
	Either struct {
		Info
		Out, Then, Else *Tensor
		Cond            expr.Expr
	}
	// Select makes Out a view of In with Axis fixed at Index. A Device axis of In has one local slice, with index 0. With Parts,
	// Out keeps the axis, and has part Index of Parts equal parts. If ranks split the axis in Out and In has all of it, Out is
	// this rank's part. Out may list reduced axes that In does not.
	Select struct {
		Info
		Out   *Tensor `text:"="`
		In    *Tensor
		Axis  int       `text:"axis"` // logical axis of In
		Index expr.Expr `text:"index"`
		Parts int64     `text:"parts?"` // 0: one index
	}
	// Set copies In to Out within each rank. Before convert-to-communications it may also reshard; the domains of its operands then
	// define the communication.
	Set struct {
		Info
		Out *Tensor `text:"="`
		In  *Tensor
	}
	// Matmul is Out[..., m, n] = A[..., m, k] B[k, n]. It is batched if B has batch axes. Addend may be nil; it has the axes, layout
	// and element type of Out, and is added before rounding. Then is a function that cuBLASLt can apply in an epilogue, or empty; it
	// is applied to each element of the sum before rounding. With OneRow, A and Out have no axis m: each batch is one row.
	Matmul struct {
		Info
		Out    *Tensor `text:"="`
		A, B   *Tensor
		Addend *Tensor `text:"add?" json:"addend"`
		Then   string  `text:"then?"`
		OneRow bool    `text:"rows 1?" json:"one_row"`
	}
	// Linear is Out[..., n] = X[..., k] W[n, k]^T + Bias[n]. Bias may be nil. Addend, Then and OneRow mean the same as in Matmul.
	Linear struct {
		Info
		Out    *Tensor `text:"="`
		X, W   *Tensor
		Bias   *Tensor `text:"?"`
		Addend *Tensor `text:"add?" json:"addend"`
		Then   string  `text:"then?"`
		OneRow bool    `text:"rows 1?" json:"one_row"`
	}
	// BlockLinear is Out[..., n] = X[..., k] W[n, k]^T for fp8 X and W. S has a scale for each domain.BlockRow elements of a row of X,
	// and T for each square block of W.
	BlockLinear struct {
		Info
		Out        *Tensor `text:"="`
		X, W, S, T *Tensor
	}
	// Broadcast adds an axis of one element: the logical axis Axis of Out.
	Broadcast struct {
		Info
		Out  *Tensor `text:"="`
		In   *Tensor
		Axis int `text:"axis"`
	}
	// Permute makes axis i of Out axis Perm[i] of In; both count without reduced axes.
	Permute struct {
		Info
		Out  *Tensor `text:"="`
		In   *Tensor
		Perm []int `text:"perm"`
	}
	// Reshape keeps the elements of In in row-major order.
	Reshape struct {
		Info
		Out *Tensor `text:"="`
		In  *Tensor
	}
	// Slice takes adjacent elements of In along its logical axis Axis, from Start on. The extent of Out along the axis
	// is the number of these elements.
	Slice struct {
		Info
		Out   *Tensor `text:"="`
		In    *Tensor
		Axis  int           `text:"axis"`
		Start domain.Extent `text:"start"`
	}
	// Concat joins the elements of In along the logical axis Axis of Out.
	Concat struct {
		Info
		Out  *Tensor `text:"="`
		In   []*Tensor
		Axis int `text:"axis"`
	}
	// Gather copies the rows of Table whose numbers are in IDs. For a number without a row it writes zeros. The logical
	// axis Axis of Table counts the rows. Table and IDs begin with the same axes, Batches of them. Out has the other
	// axes of IDs in place of the row axis. First has leading axes of Table, which count blocks of rows. An element of
	// First is the number of the first row of a block, in fp32.
	Gather struct {
		Info
		Out        *Tensor `text:"="`
		Table, IDs *Tensor
		First      *Tensor `text:"?"`
		Axis       int     `text:"axis?"`
		Batches    int     `text:"batches?"`
	}
	// TopK selects the largest elements of each row of In, in descending order. Rows run along the last axis. Out is
	// their values, and then their positions in the row, in int32; the first of equal elements comes first. In a row
	// with NaN all values are NaN, and all positions the largest int32.
	TopK struct {
		Info
		Out []*Tensor `text:"="`
		In  *Tensor
	}
	// Positions writes 0, 1, ... along the only axis of Out. If ranks split the axis, the numbers continue from shard
	// to shard. With a Step, each rank has one element, and the numbers are 0, Step, 2 Step, ...
	Positions struct {
		Info
		Out  *Tensor       `text:"="`
		Step domain.Extent `text:"step?"`
	}
	// Unary is Out = Fn(In), element by element. domain.UnaryFn defines the syntax of Fn: "gelu", "scale(0.125)".
	Unary struct {
		Info
		Fn  string
		Out *Tensor `text:"="`
		In  *Tensor
	}
	// Binary is Out = Fn(A, B), element by element, with NumPy broadcasting.
	Binary struct {
		Info
		Fn   string
		Out  *Tensor `text:"="`
		A, B *Tensor
	}
	// Cast converts In to the element type of Out.
	Cast struct {
		Info
		Out *Tensor `text:"="`
		In  *Tensor
	}
	// Reduce reduces In along its logical axis Axis with Fn within each rank, and accumulates in fp32. Before
	// convert-to-communications the axis may also be a Device axis; the reduction is then over ranks. Out lists the
	// axis as a Reduction axis, or omits it.
	Reduce struct {
		Info
		Fn   string
		Out  *Tensor `text:"="`
		In   *Tensor
		Axis int `text:"axis"`
	}
	// Communication is a collective of the team along a mesh axis or, without an axis, of all ranks of the mesh. A SendRecv moves data
	// between two meshes instead. Ranks lists the participants.
	Communication struct {
		Info
		Handle   string `text:"="` // the name that Wait uses
		Type     collective.Type
		Mesh     *domain.Mesh `text:"mesh"`
		MeshAxis string       `text:"&axis?"`  // the team is the ranks along this axis; empty: the whole mesh
		Root     expr.Expr    `text:"root?"`   // index of the root in the team; nil: no root
		ReduceFn string       `text:"reduce?"` // "sum", "max", "min", "prod", or empty
		In       *Tensor      `text:"in"`
		Out      *Tensor      `text:"out"`
		Backend  Backend      `text:"?"`
		Of       string       `text:"of?"` // its name in the schedule, if the schedule has choices for it alone; else empty
	}
	// P2PCommunication sends Buffer to a peer, or receives it from a peer.
	P2PCommunication struct {
		Info
		Handle   string    `text:"="`
		Send     bool      `text:"send|recv" json:"type"`
		Buffer   *Tensor   `text:"buffer"`
		Peer     expr.Expr `text:"peer"` // world rank of the peer
		Backend  Backend   `text:"?"`
		Locality Locality  `text:"&?"` // limits the peers; with other peers the statement does nothing
		// Of is the name in the schedule of the communication that the transfer is part of, if the schedule has choices
		// for that communication alone; else empty.
		Of string `text:"of?"`
	}
	// PeerReadSum is Out = In plus the buffers that the receives of Body read from peers. One operation on the statement's stream does
	// all of it. Each receive over IPC-get into Out, or a part of it, adds the buffer of its peer. The operation waits for all ready
	// flags and reads the elements in place. It adds them in fp32 in the order of the ranks, with In as the partial sum of this rank.
	// Each send over IPC-put of Out, or of a part of it, stores the result in the buffer of its peer. Then the operation sets all done
	// flags. No Wait names these receives and sends.
	PeerReadSum struct {
		Info
		Out  *Tensor `text:"="`
		In   *Tensor
		Body []Stmt
	}
	// StartCoalescing opens a group of communications that progress at the same time.
	StartCoalescing struct{ Info }
	// EndCoalescing closes the group.
	EndCoalescing struct {
		Info
		Handle string `text:"="`
	}
	// Wait makes its stream wait for a communication or a group. It is in the same loops as the communication, or in later loops over
	// the same variables, and may be in further loops inside these. By default it waits for the communication of the same iteration.
	// Iteration names an earlier iteration of the outermost of the communication's loops instead. Then the Wait may precede the
	// communication in the loop.
	Wait struct {
		Info
		Handle    string
		Iteration expr.Expr `text:"iteration?"` // nil: the same iteration
	}
	// ShareMemHandles exchanges the CUDA IPC handles of the buffers of Comms among the ranks of a team: the ranks along an axis of a
	// mesh or, without a mesh, all ranks. Ranks exchange the handle of a buffer once (see Exchange).
	ShareMemHandles struct {
		Info
		Mesh     *domain.Mesh `text:"mesh?"`
		MeshAxis string       `text:"&axis?"`
		Comms    []string     `text:"?" json:"communications"` // handles of the P2P communications
	}
)

// statements has a nil pointer of each type of statement of this package that a statement list can contain: all types but Either.
var statements = []Stmt{
	(*Allocate)(nil), (*Delay)(nil), (*Deallocate)(nil), (*GetCurrentStream)(nil), (*Synchronize)(nil), (*For)(nil), (*If)(nil),
	(*Select)(nil), (*Set)(nil), (*Matmul)(nil), (*Linear)(nil), (*BlockLinear)(nil), (*Broadcast)(nil), (*Permute)(nil), (*Reshape)(nil),
	(*Slice)(nil), (*Concat)(nil), (*Positions)(nil), (*Unary)(nil), (*Binary)(nil), (*Cast)(nil), (*Reduce)(nil), (*Communication)(nil),
	(*P2PCommunication)(nil), (*PeerReadSum)(nil), (*StartCoalescing)(nil), (*EndCoalescing)(nil), (*Wait)(nil),
	(*ShareMemHandles)(nil), (*Fused)(nil), (*Attention)(nil), (*Gather)(nil), (*TopK)(nil),
}
