// Package hostir is the host IR: the program that one process per GPU runs on the host. In its text form each statement has one
// line. Passes rewrite the program, and package fromhost translates it to calls.
//
// The program is the same on every rank. Ranks differ in the number "rank" and in the meshes that contain them. Statements are
// issued in order, and their work runs on their streams. Synchronize and Wait order streams and never block the host.
//
// Tensors and communications are on meshes, and a mesh need not contain every rank. Ranks(statement) lists the ranks that run a
// statement. Any other rank skips the statement, without an If in the program. Statements that order streams run on all ranks; a
// Wait for a communication that the rank did not start does nothing.
//
// A Communication is on the mesh of its team. A rank of the team may lack the operand or the result. If the operand of a
// Broadcast or Scatter is on another mesh, only the root needs it. If the result of a Gather or Reduce is on another mesh, only
// the root needs it. Buffers of the other ranks are ignored. If the root of a Broadcast is not on the result's mesh, it is the
// last rank of the team, and sends from its operand. A SendRecv moves the buffer of each rank of the operand's mesh to the rank
// at the same position of the result's mesh, which may be the same rank.
package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Program is one host program with its tensors.
type Program struct {
	Name    string
	File    string // the spec that positions refer to
	Params  []Param
	Meshes  []*domain.Mesh // the first is the world
	Tensors []*Tensor      // inputs, then outputs, then all others, including tensors that passes add
	Streams int            // number of worker streams
	Choices Choices        // the schedule
	Auto    *Auto          // set: passes choose unset fields from the problem size; nil: they do not
	// Reference lists the model's operations in order, on whole tensors. The emitted program checks its results against them.
	// Passes do not change it.
	Reference []domain.Operation
	// Saved lists operations that compute those inputs of attention gradients that the forward pass saves: the result
	// and the log-sum-exps of the attention. A set operation writes each such input. Some of the operations are also in
	// Reference.
	Saved []domain.Operation
	Body  []Stmt
	// Fallback computes the same, with NCCL between ranks that cannot share memory. It runs if there are such ranks. nil: no
	// fallback.
	Fallback *Program
	// Derived records placements that passes derived, applied or not; nil if they derived none. It is not part of the text form.
	Derived *Derived
}

// Derived records what hirgen derived placements from, and whether it applied them.
type Derived struct {
	From      string  // the text form of the program without derived placements, or of its beginning
	Beginning bool    // From has only the beginning, since the program is large
	Applied   bool    // the program has derived placements
	Slower    float64 // if not applied: how many microseconds slower they are by prediction; 0 also without a prediction
}

// Variants lists the program and its fallback, if it has one.
func (p *Program) Variants() []*Program {
	if p.Fallback == nil {
		return []*Program{p}
	}
	return append([]*Program{p}, p.Fallback.Variants()...)
}

// Given reports whether the user, and not a pass, made a choice. Without Auto, it returns true for every choice.
func (p *Program) Given(c schedule.Choice) bool {
	return p.Auto == nil || slices.Contains(p.Auto.Given, c.Path())
}

// Param is a named integer of the spec.
type Param struct {
	Name  string
	Value int64
	Text  string // its expression in the spec, for comments; not part of the text form
}

// Role says who owns the buffer of a tensor.
type Role int

// The roles of a tensor.
const (
	Temp   Role = iota // allocated by the program
	Input              // caller's buffer, only read
	Output             // caller's buffer, written
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
	// Of is the statement that makes a View: a Select, Broadcast, Permute, Reshape, Slice or Either, which is not in any
	// statement list. It is nil for other roles. Before streams are lowered, a statement in a list makes the view, and Of is nil
	// too.
	Of Stmt
	// Inferred says that the user left the axes to the passes, which may shard them.
	Inferred bool
	// Rounded marks an output for which the check of an emitted program allows for rounding; see eval.Bounds. If no output is
	// Rounded, the check is exact and inputs are integers. Otherwise a floating-point input has the values of Fill.
	// Deviation is the standard deviation of a floating-point input. For an integer input it is the number of rows that its
	// elements choose from. 0 means 1.
	Rounded   bool
	Deviation float64
	// Absent lists the axes of one element that this input or output lacks in PyTorch: an axis split over a mesh axis of one
	// rank, which the passes make whole, and the axes of a tensor that is declared without axes.
	Absent []int
	Fill   string // the values of an input in a check, one of domain.Fills; empty: domain.FillNormal
	Pos    diag.Pos
}

var roleNames = map[Role]string{Temp: "temp", Input: "input", Output: "output", View: "view"}

// String returns the role as the text form prints it.
func (r Role) String() string { return roleNames[r] }

// Remove removes tensors from the list of a program.
func (p *Program) Remove(gone map[*Tensor]bool) {
	p.Tensors = lists.Except(p.Tensors, func(t *Tensor) bool { return gone[t] })
}

// Allocates reports whether a program has Allocate statements, as every program does after its streams are lowered.
func Allocates(p *Program) bool {
	return Any(p.Body, Is[*Allocate])
}
