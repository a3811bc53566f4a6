package model

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Pipeline is what a user asks for: tensors on meshes, operations between them,
// and the choices of the schedule. It says nothing of buffers or streams.
type Pipeline struct {
	Name     string
	Doc      string
	File     string // base name of the spec, or of the Go file that built it
	Params   []Param
	Meshes   []*domain.Mesh // the first one is the world
	Tensors  []*Tensor      // declared ones first, in order; then inferred ones in order of their operation
	Ops      []*Op
	Inputs   []*Tensor
	Outputs  []*Tensor
	Schedule schedule.Schedule
}

// Param is a named integer of the spec, after overrides.
type Param struct {
	Name  string
	Value int64
	Pos   diag.Pos
}

// Tensor is a logical tensor. Axes holds its logical domain.
type Tensor struct {
	Name      string
	DType     domain.DType
	Axes      []domain.Axis
	Mesh      *domain.Mesh
	Producer  *Op  // nil for an input
	Annotated bool // the user gave its axes; otherwise they were inferred
	Pos       diag.Pos
}

// OpKind names an operation, as specs spell it.
type OpKind string

// The operations.
const (
	OpSet       OpKind = "set"       // copy, or reshard
	OpMatmul    OpKind = "matmul"    // C[..., m, n] = A[..., m, k] B[k, n], or batched when B has batch axes
	OpLinear    OpKind = "linear"    // Y[..., n] = X[..., k] W[n, k]^T (+ bias[n])
	OpBroadcast OpKind = "broadcast" // adds an axis of one element
	OpPermute   OpKind = "permute"
	OpReshape   OpKind = "reshape"
	OpCast      OpKind = "cast"
	OpSlice     OpKind = "slice"     // the elements from Start on along Axis, as many as the result has
	OpConcat    OpKind = "concat"    // the operands one after the other along Axis
	OpPositions OpKind = "positions" // the index of each element along Axis of the operand, whose values do not matter
	OpUnary     OpKind = "unary"     // Fn: relu, gelu, silu, neg, exp, ...
	OpBinary    OpKind = "binary"    // Fn: add, sub, mul, div, max, min
	OpReduce    OpKind = "reduce"    // Fn: sum, max, min, prod; over Axis
)

// Op is one operation: Out = Kind(In...). Axis and Perm count the axes that operations
// see, domain.WithoutReductions.
type Op struct {
	Kind  OpKind
	Fn    string // the function of a unary, binary or reduce operation; domain.UnaryFn has the spelling
	In    []*Tensor
	Out   *Tensor
	Axis  int           // reduce, slice, positions: the axis of the operand; broadcast, concat: the axis of the result
	Perm  []int         // permute: axis i of the result is axis Perm[i] of the operand
	Start domain.Extent // slice: how many elements of the axis are left out before the first one, 0 or more
	Pos   diag.Pos
	// Whole is the operation that this one is a part of, as specs spell it: "layer_norm(X, g, b)". The
	// last part has its result. Empty: the spec has this one.
	Whole string
}
