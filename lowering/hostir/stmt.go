package hostir

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Stmt is one statement. The concrete types below are all there is; Fields tells what their tags say.
type Stmt interface {
	// Meta is what every statement carries.
	Meta() *Info
}

// Info is carried by every statement: where it comes from in the spec, when a
// pass added it, why, and where it runs.
type Info struct {
	Pos  diag.Pos
	Note string    // one sentence without a final stop, or empty
	On   StreamRef // the stream that it is issued to; of no meaning for a For or an If
	Why  string    // of what waits, and of transfers: the edges that it keeps, in words; no written form has it
}

// Meta lets Info serve as the embedded part of each statement.
func (i *Info) Meta() *Info { return i }

// InfoFrom is the Info of a statement that a pass makes from s, and why it does.
func InfoFrom(s Stmt, note string) Info {
	return Info{Pos: s.Meta().Pos, Note: note}
}

// The statements.
type (
	// Allocate makes the buffer of a tensor. The buffer of an Output is the
	// caller's: the statement binds it.
	Allocate struct {
		Info
		Tensor *Tensor `text:"="`
	}
	// Delay keeps its stream idle for a while, so that another one starts first.
	Delay struct {
		Info
		Microseconds int64
	}
	// Deallocate ends the life of a Temp's buffer.
	Deallocate struct {
		Info
		Tensor *Tensor
	}
	// GetCurrentStream names the stream that is current when the program is called: Caller.
	GetCurrentStream struct{ Info }
	// Synchronize makes the stream that it is issued to wait for all that was issued to Stream.
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
	// If runs Body when Cond is not zero, Else otherwise.
	If struct {
		Info
		Cond expr.Expr
		Body []Stmt
		Else []Stmt
	}
	// Either makes Out a view of what Then is a view of where Cond is not zero, else of what Else is a
	// view of. These two have its name, and no place in Program.Tensors.
	Either struct {
		Info
		Out, Then, Else *Tensor
		Cond            expr.Expr
	}
	// Select makes Out a view of In with Axis fixed at Index. A Device axis of In
	// has one local slice: its index is 0. With Parts, Axis stays, and Out has part Index
	// of that many equal parts; where Out has the axis split over ranks, that is this rank's
	// part of what In has whole. Out may list reduced axes that In does not.
	Select struct {
		Info
		Out   *Tensor `text:"="`
		In    *Tensor
		Axis  int       `text:"axis"` // logical axis of In
		Index expr.Expr `text:"index"`
		Parts int64     `text:"parts?"` // 0: one index
	}
	// Set copies In to Out on one rank. Before convert-to-communications it may
	// also reshard: its operands' domains then say what has to move.
	Set struct {
		Info
		Out *Tensor `text:"="`
		In  *Tensor
	}
	// Matmul is Out[..., m, n] = A[..., m, k] B[k, n]; batched when B has batch axes. An
	// Addend, which has the axes, the layout and the element type of Out, is added before the
	// result is rounded; it may be nil. Then, one of domain.Epilogues or empty, is applied to each element of the
	// sum before it is rounded. With OneRow, A and Out have no axis m: a batch is a row.
	Matmul struct {
		Info
		Out    *Tensor `text:"="`
		A, B   *Tensor
		Addend *Tensor `text:"add?" json:"addend"`
		Then   string  `text:"then?"`
		OneRow bool    `text:"rows 1?" json:"one_row"`
	}
	// Linear is Out[..., n] = X[..., k] W[n, k]^T + Bias[n]; Bias may be nil. Addend, Then and OneRow
	// are as those of a Matmul.
	Linear struct {
		Info
		Out    *Tensor `text:"="`
		X, W   *Tensor
		Bias   *Tensor `text:"?"`
		Addend *Tensor `text:"add?" json:"addend"`
		Then   string  `text:"then?"`
		OneRow bool    `text:"rows 1?" json:"one_row"`
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
	// Slice is the elements of In from Start on, along the logical axis Axis of In: as many as Out has.
	Slice struct {
		Info
		Out   *Tensor `text:"="`
		In    *Tensor
		Axis  int           `text:"axis"`
		Start domain.Extent `text:"start"`
	}
	// Concat is the elements of In, one after the other along the logical axis Axis of Out.
	Concat struct {
		Info
		Out  *Tensor `text:"="`
		In   []*Tensor
		Axis int `text:"axis"`
	}
	// Positions is 0, 1, ... along the only axis of Out, across the ranks that have parts of it.
	Positions struct {
		Info
		Out *Tensor `text:"="`
	}
	// Unary is Out = Fn(In), element by element. Fn is spelled as domain.UnaryFn reads it:
	// "gelu", "scale(0.125)".
	Unary struct {
		Info
		Fn  string
		Out *Tensor `text:"="`
		In  *Tensor
	}
	// Binary is Out = Fn(A, B), element by element, broadcasting as NumPy does.
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
	// Reduce folds the logical axis Axis of In with Fn on one rank; accumulation is
	// fp32. Before convert-to-communications the axis may also be a Device axis. Out
	// lists the axis as r or not at all.
	Reduce struct {
		Info
		Fn   string
		Out  *Tensor `text:"="`
		In   *Tensor
		Axis int `text:"axis"`
	}
	// Communication is a collective over the team of a mesh axis, or, without an axis,
	// over all ranks of the mesh. See Ranks for who takes part.
	Communication struct {
		Info
		Handle   string `text:"="` // what Wait names
		Type     CommType
		Mesh     *domain.Mesh `text:"mesh"`
		MeshAxis string       `text:"&axis?"`  // the team is the ranks along this axis; empty: the whole mesh
		Root     expr.Expr    `text:"root?"`   // team rank; nil where there is none
		ReduceFn string       `text:"reduce?"` // "sum", "max", "min", "prod", or empty
		In       *Tensor      `text:"in"`
		Out      *Tensor      `text:"out"`
		Backend  Backend      `text:"?"`
		Of       string       `text:"of?"` // what the schedule calls it, where that has choices for it alone
	}
	// P2PCommunication sends Buffer to a peer or receives it from one.
	P2PCommunication struct {
		Info
		Handle   string    `text:"="`
		Send     bool      `text:"send|recv" json:"type"`
		Buffer   *Tensor   `text:"buffer"`
		Peer     expr.Expr `text:"peer"` // world rank
		Backend  Backend   `text:"?"`
		Locality Locality  `text:"&?"`  // with which peers; there is nothing to do, or to wait for, with others
		Of       string    `text:"of?"` // what the schedule calls the communication that it is a part of, where that has choices for it alone
	}
	// PeerReadSum is Out = In plus what Body reads of peers: each receive over IPC-get in it, which
	// goes into Out or a part of it, adds the buffer of its peer. The elements are read in place,
	// in one operation of its stream that waits for all ready flags, adds in fp32 in the order of
	// the ranks, In as the partial sum of this one, and then sets the done flags. Each send over
	// IPC-put in Body, of Out or a part of it, stores the result in the buffer of its peer, in the
	// same operation, which then sets that done flag. Nobody waits for the receives and sends.
	PeerReadSum struct {
		Info
		Out  *Tensor `text:"="`
		In   *Tensor
		Body []Stmt
	}
	// StartCoalescing opens a group of communications that progress together.
	StartCoalescing struct{ Info }
	// EndCoalescing closes the group.
	EndCoalescing struct {
		Info
		Handle string `text:"="`
	}
	// Wait makes its stream wait for a communication or a group. It stands in the
	// loops of what it waits for, or in later ones over the same variables, and then waits
	// for the communication of the same iteration. With an Iteration, which is an earlier one
	// of the outermost of those loops, it waits for the communication of that one instead, and
	// may stand before it in the loop.
	Wait struct {
		Info
		Handle    string
		Iteration expr.Expr `text:"iteration?"` // nil: the same
	}
	// ShareMemHandles exchanges the CUDA IPC handles of the buffers named, once, among the
	// ranks of a team: those along an axis of a mesh or, with no mesh, all ranks.
	ShareMemHandles struct {
		Info
		Mesh     *domain.Mesh `text:"mesh?"`
		MeshAxis string       `text:"&axis?"`
		Comms    []string     `text:"?" json:"communications"` // handles of the P2P communications
	}
)

// statements has one of each kind that programs are written with.
var statements = []Stmt{
	(*Allocate)(nil), (*Delay)(nil), (*Deallocate)(nil), (*GetCurrentStream)(nil), (*Synchronize)(nil), (*For)(nil), (*If)(nil),
	(*Select)(nil), (*Set)(nil), (*Matmul)(nil), (*Linear)(nil), (*Broadcast)(nil), (*Permute)(nil), (*Reshape)(nil), (*Slice)(nil),
	(*Concat)(nil), (*Positions)(nil), (*Unary)(nil), (*Binary)(nil), (*Cast)(nil), (*Reduce)(nil), (*Communication)(nil),
	(*P2PCommunication)(nil), (*PeerReadSum)(nil), (*StartCoalescing)(nil), (*EndCoalescing)(nil), (*Wait)(nil),
	(*ShareMemHandles)(nil), (*Fused)(nil), (*Attention)(nil),
}
