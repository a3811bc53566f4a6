// Package hostir is the host IR: the program that one process per GPU runs on the
// host, one statement a line. Passes rewrite it; the emitter prints it.
//
// The program is the same text on every rank (the ranks differ by the scalar
// "rank" and by the meshes they are in). Statements are issued in order; what they
// start runs on the current stream. Synchronize and Wait order streams and never
// block the host.
//
// Tensors and communications are on meshes, and a mesh need not hold every rank. That
// says who runs a statement: a rank that is not among Ranks(statement) does nothing
// there, and has no buffer of its tensors. No statement tests for it. What orders
// streams runs everywhere; a Wait for what the rank did not start is nothing.
//
// A Communication is on the mesh of its team. A rank of the team may lack one side: only
// the root has the operand of a Broadcast or Scatter, or the result of a Gather or
// Reduce, where that tensor is on another mesh; buffers of the others count for nothing.
// The root of a Broadcast that is not on the result's mesh is the last of the team and
// sends from where its data lies. A SendRecv takes the buffer of each rank of the
// operand's mesh to the rank at the same place of the result's; the two may be one rank.
package hostir

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
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
	Auto    *Auto          // asks for choices by the size of the problem; nil: they stand
	// Reference is the model's operations in order, on whole tensors: what the
	// emitted program checks itself against. Passes leave it alone.
	Reference []RefOp
	// Saved is what makes the inputs of a check that a forward pass saves: some of the operations of Reference, and
	// others that end in sets of these inputs.
	Saved []RefOp
	Body  []Stmt
	// Fallback computes the same, over NCCL between ranks that cannot share memory; it runs where
	// there are such ranks. nil: there is no other program.
	Fallback *Program
}

// Variants lists the program, and its fallback variant where there is one.
func (p *Program) Variants() []*Program {
	if p.Fallback == nil {
		return []*Program{p}
	}
	return append([]*Program{p}, p.Fallback.Variants()...)
}

// Given reports whether the user made a choice, and no pass.
func (p *Program) Given(c schedule.Choice) bool {
	return p.Auto == nil || slices.Contains(p.Auto.Given, c.Path())
}

// RefOp is one operation of the model. Names are those of the model's tensors.
type RefOp struct {
	Kind  string // as specs spell it: "matmul", "unary", ...
	Fn    string // of a unary, binary or reduce operation, or an attention
	Out   string
	More  []string // further results
	In    []string
	Axis  int             // reduce, broadcast, slice, concat: the logical axis
	Perm  []int           // permute
	Start domain.Extent   // slice
	Shape []domain.Extent // the logical shape of Out, without reduced axes
	DType domain.DType    // of Out
	Whole string          // the operation of the spec that it is a part of: "layer_norm(X, g, b)"; empty: none
	Pos   diag.Pos
}

// Results lists what an operation makes.
func (o RefOp) Results() []string { return append([]string{o.Out}, o.More...) }

// Param is a named integer of the spec.
type Param struct {
	Name  string
	Value int64
}

// Role says who owns the buffer of a tensor.
type Role int

// The roles of a tensor.
const (
	Temp   Role = iota // allocated by the program
	Input              // the caller's, read only
	Output             // the caller's, written
	View               // memory of another tensor, by another name
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
	// Of says what a View is a view of: a Select, Broadcast, Permute, Reshape, Slice or Either that makes it,
	// which stands in no list of statements. nil before streams are lowered, when a statement makes it.
	Of Stmt
	// Inferred says that the user left the axes to the passes: they may shard them.
	Inferred bool
	// Tolerance is how far an output may be from the reference when a program checks
	// itself: |got - want| <= Tolerance * (|want| + root of the mean square of want, or of terms
	// that cancel in an attention, where these are larger). When it is 0 for all outputs, the
	// check is exact and the inputs are integers; otherwise an input is filled with normal
	// values of this Deviation, 0 meaning 1.
	Tolerance, Deviation float64
	Pos                  diag.Pos
}

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

// Name is what a communication of this type is called in a program.
func (t CommType) Name() string {
	return map[CommType]string{
		Allgather: "gather", Gather: "gather_to_root", Scatter: "scatter", Reduction: "reduce_to_root", Allreduce: "allreduce",
		ReduceScatter: "reduce_scatter", BroadcastComm: "broadcast", SendRecv: "send_recv", AllToAll: "all_to_all",
	}[t]
}

// Kind is the type as reports call it, in nccl-tests' manner: "reducescatter".
func (t CommType) Kind() string { return strings.ToLower(string(t)) }

var roleNames = map[Role]string{Temp: "temp", Input: "input", Output: "output", View: "view"}

// String prints a role as the text form does.
func (r Role) String() string { return roleNames[r] }

// Allocates reports whether a program makes its buffers itself, as every program does once its streams
// are lowered.
func Allocates(p *Program) bool {
	return Any(p.Body, func(s Stmt) bool {
		_, ok := s.(*Allocate)
		return ok
	})
}
