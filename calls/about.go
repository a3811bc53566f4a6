package calls

import (
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Described is a lowered program, with the metadata that the emitter writes into its folder.
type Described struct {
	*Program
	About
	Fallback *Described // the variant for ranks that cannot all share memory; nil: none
}

// AcrossNodes is the suffix of names that belong to the fallback variant alone.
const AcrossNodes = "_across_nodes"

// With replaces the calls of each variant, in the order of Programs. It returns an error if the number of variants or
// of arguments differs.
func (d *Described) With(given []*Program) error {
	variants := []*Described{d}
	if d.Fallback != nil {
		variants = append(variants, d.Fallback)
	}
	if len(given) != len(variants) {
		return notLowerable(d.File, "there are calls of %d variants, and the program has %d", len(given), len(variants))
	}
	for i, v := range variants {
		if len(given[i].Arguments) != len(v.Arguments) {
			return notLowerable(given[i].File, "these calls have %d arguments, and the spec has %d inputs and outputs", len(given[i].Arguments),
				len(v.Arguments))
		}
		v.Program = given[i]
	}
	return nil
}

// notLowerable returns a NotLowerable error at a file.
func notLowerable(file, format string, args ...any) error {
	var list diag.List
	list.Add(diag.Pos{File: file}, diag.NotLowerable, format, args...)
	return list.Err()
}

// Programs lists the program, and its fallback variant if it has one.
func (d *Described) Programs() []*Program {
	if d.Fallback == nil {
		return []*Program{d.Program}
	}
	return append([]*Program{d.Program}, d.Fallback.Programs()...)
}

// About describes a program for its callers and readers. Nothing in it changes what the program does.
type About struct {
	World      *domain.Mesh
	Tensors    []Tensor           // of the arguments, in the order of Program.Arguments
	Types      []domain.DType     // element types of the tensors and of the kernels' casts, without integer types
	Operations []domain.Operation // of the model, in order, on whole tensors: the program checks its results against them
	Saved      []domain.Operation // operations that compute the inputs that a forward pass saves for an attention gradient

	Schedule  string    // the settings that shaped the program, in words
	Auto      string    // how schedule: auto made its choices; empty: it made none
	Given     []string  // the schedule fields of the spec, which auto kept
	Transport string    // "nccl", or if there are others, all of these: "ipc-get", "ipc-get, ipc-put"
	Movements []string  // the communications, in a few words each: "allgather x", "broadcast of right"
	Declared  []Tensor  // the other tensors whose axes the spec declares: name, type, axes and mesh
	Derived   []string  // the communications in words, in order, without adjacent duplicates
	Gemms     []Size    // the GEMMs of one rank in a call
	Bytes     expr.Expr // bytes of the largest communication in a call, as nccl-tests count them; nil: there is none
	Largest   string    // kind of the largest communication; empty: there is none
	Team      expr.Expr // ranks of the largest communication; 1 for a transfer from rank to rank; nil: there is none
	Ranks     expr.Expr // the number of ranks of the world
	HostIR    string    // the text of the host program
}

// Tensor is an input or output of the program, or a tensor of the spec.
type Tensor struct {
	Name      string
	Type      domain.DType
	Axes      []domain.Axis // the axes in the spec
	Mesh      *domain.Mesh  // nil: the world
	On        string        // the program's name of the mesh whose ranks hold the tensor; empty: all ranks
	Live      []LiveAxis    // the axes of its buffer on a rank, in the order of Axes
	Pos       diag.Pos
	Terms     expr.Expr // of an input: the number of terms of the sums that contain it (domain.Contractions); 1: there are none
	Deviation float64   // of an input: standard deviation of its normal values, or number of rows that its integers choose from; 0 means 1
	Fill      string    // the values of an input in a check, one of domain.Fills; empty: domain.FillNormal
	Rounded   bool      // the check of an output allows for rounding
}

// LocalShape returns the shape of a tensor's buffer on one rank.
func (t *Tensor) LocalShape() []int64 {
	shape := make([]int64, len(t.Live))
	for i, a := range t.Live {
		shape[i] = a.LocalSize()
	}
	return shape
}

// LiveAxis is an axis of a tensor, with its extents in the names of the program.
type LiveAxis struct {
	domain.Axis
	Whole, Local expr.Expr // extents over all ranks and on one rank
	// If the axis is split over ranks: the name of this rank's coordinate, its mesh, and the number of the mesh axis.
	Coordinate, Of string
	Number         int
	Absent         bool // the axis has one element, and the tensor in PyTorch does not have it
}

// Size is the size of a GEMM: M, N and K, and the number of matrices in a batch. M counts the rows of all iterations of
// its loops.
type Size struct {
	M, N, K, Batch expr.Expr
}
