package model

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/model/domain"
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
	Schedule Schedule
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
	OpUnary     OpKind = "unary"  // Fn: relu, gelu, silu, neg, exp, ...
	OpBinary    OpKind = "binary" // Fn: add, sub, mul, div, max, min
	OpReduce    OpKind = "reduce" // Fn: sum, max, min, prod; over Axis
)

// Op is one operation: Out = Kind(In...). Axis and Perm count the axes that operations
// see, domain.WithoutReductions.
type Op struct {
	Kind OpKind
	Fn   string // the function of a unary, binary or reduce operation; domain.UnaryFn has the spelling
	In   []*Tensor
	Out  *Tensor
	Axis int   // reduce: the axis of the operand; broadcast: the axis of the result
	Perm []int // permute: axis i of the result is axis Perm[i] of the operand
	Pos  diag.Pos
}

// OnCaller is the number of streams to give a Builder for a pipeline that runs on the
// caller's stream, since 0 keeps the default there.
const OnCaller = -1

// Schedule holds the choices that change how fast a program is and never what it
// computes. Every field has a default, so a spec may leave the section out.
type Schedule struct {
	// Pipeline is how a pipeline crosses ranks: "collective", "broadcast", "reduce", "p2p",
	// "ring", or "eager": not at all, a whole collective before the whole operation.
	Pipeline string
	// Transport is "nccl", or of point-to-point pipelines "ipc-get" or "ipc-put": CUDA IPC; "auto"
	// is CUDA IPC between ranks that can share memory, and NCCL between others.
	Transport string
	Reshard   string // "before" or "after" the compute
	Streams   int    // worker streams; 0 in a pipeline: the caller's stream does the work
	Sync      string // "split" or "fused": where every stream waits for the caller's stream
	Joins     string // "body" or "after": where the caller's stream waits for the workers
	Buffers   string // "keep": allocated once, for all calls; "free": live as long as needed
	Own       string // "in-place" or "copied": the own slice in point-to-point pipelines
	Transfers string // "inline": in the work loop; "ahead": all are issued before it
	Order     string // of the peers in point-to-point pipelines: "rotation", "reverse" or "pairwise"
	OwnStep   string // "first" or "last": when such a pipeline works on the own slice
	Sums      string // "added" to a product after it, or "folded" into it: of what comes along a ring
	Delay     int    // microseconds for which the second stream of a pipeline starts later
	Chunks    int    // products that a rank's result is made in; 0: one for each slice
	Pieces    int    // of each slice, summed and gathered one by one; 0 or 1: the slice is whole
	// Copy is who copies between shared memories: "engine", a copy engine; "kernel", one kernel
	// for each transfer; "fused", one kernel for all transfers that follow each other.
	Copy    string
	Signals string // "single" or "batched": the signals of such transfers
	// Hosts is the mesh axis that leads from host to host, or "none": transfers along it go over
	// NCCL, whatever the transport.
	Hosts string
	Graph bool // capture a call into a CUDA graph and replay it
	// Auto asks for what is fastest at this size by measurements, for all fields that are not
	// in Given: those that the user set, which the loader and the Builder fill in.
	Auto  bool
	Given []string
	Pos   diag.Pos
}
