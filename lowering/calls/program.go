// Package calls is the call IR: the program as it is printed, one statement for each call of
// CUDA, NCCL or cuBLASLt. fromhost makes it from the host IR and takes every decision that the
// emitted source shows, with passes: which event orders which streams, which flags ranks write and
// wait for, what is one batch, what has a name. interp runs it, so what is checked is what is printed.
//
// A statement names the stream that it runs on; there is no current stream. Names are those of
// the emitted program. Expressions are over parameters, constants, loop variables, "rank" and
// scalars that Let declares. Pointers count elements.
package calls

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Program is one program with all that it declares.
type Program struct {
	Name    string
	File    string // the spec that it comes from, for positions
	Streams int    // compute streams that it uses; 0: none
	Graph   bool   // the body is captured as a CUDA graph, and replayed

	Params     []*Param
	Constants  []*Constant
	Meshes     []*Mesh // the first one is the world
	Guards     []*Guard
	Teams      []*Team
	Arguments  []*Argument // inputs, then outputs, as the caller passes them
	Buffers    []*Buffer
	Shapes     []*Shape
	Attentions []*Attention
	Kernels    []*Kernel
	Events     []*Events
	Shares     []*Share
	Labels     []*Label
	Life       Life // outside of the calls
	Body       []Stmt
}

// What an operand of a kernel has one element for.
const (
	ForElement = "element" // each row and column
	ForColumn  = "column"  // each column: the row is the same for all
	ForRow     = "row"     // each row: it stands for all columns
	ForSeed    = "seed"    // all: an int64, which is not read as a number
)

// InPositions is the type of an operand of a kernel that is in no memory: its elements are where they
// would be.
const InPositions = "positions"

// What a program declares.
type (
	// Param is a parameter of the spec.
	Param struct {
		Name  string
		Spec  string `text:"quoted"` // as the spec names it
		Value int64
	}
	// Constant is an extent that several statements spell.
	Constant struct {
		Name  string
		Value expr.Expr
	}
	// Mesh is an ordered set of ranks.
	Mesh struct {
		Name    string
		Label   string `text:"quoted"` // as the spec names it
		Axes    string `text:"quoted"` // their names, for a comment
		Extents []expr.Expr
		Ranks   []int64 // nil: 0, 1, 2, ...
	}
	// Guard tells whether this rank is in one of some meshes.
	Guard struct {
		Name   string
		Meshes []string
	}
	// Team is the ranks along an axis of a mesh or, without one, all of it: a communicator and
	// the stream that carries it.
	Team struct {
		Name  string
		Mesh  string
		Axis  int64
		Whole bool   // all of the mesh, and not those along an axis
		Where string `text:"quoted"` // what errors call it
	}
	// Argument is a tensor of the caller's.
	Argument struct {
		Name     string
		Tensor   string `text:"quoted"` // of the spec
		Type     domain.DType
		Output   bool
		Used     bool
		Elements expr.Expr   // of one rank
		Mesh     string      // the ranks that have a part of it; empty: all
		Shape    []expr.Expr // of one rank, for a comment
	}
	// Buffer is memory that the program keeps from call to call, or a part of the memory of another one.
	Buffer struct {
		Name     string
		In       string // whose memory it lies in; empty: its own
		Offset   int64  // bytes behind the start of that
		Arena    bool   // it is memory of others alone, which lie in it
		Type     domain.DType
		Elements expr.Expr
		Guard    string      // of the ranks that have it; empty: all
		Where    string      `text:"quoted"` // what errors call it
		Shape    []expr.Expr // for a comment
		Works    string      // the attention that works there, if it wants no more; else it has memory of its own
	}
	// Shape is one GEMM: C[m, n] = A[m, k] B[k, n], batched, with its plan.
	Shape struct {
		Name, Plan                string
		M, N, K, Batch            expr.Expr
		StrideA, StrideB, StrideC expr.Expr
		RowB                      expr.Expr // elements between rows of B as it is stored; nil: dense
		AlignA, AlignB, AlignC    int64     // bytes that all pointers are multiples of, where those are fewer than rows need; 0: as many
		TransposeA, TransposeB    bool
		Bias, Addend, Fp32Result  bool
		PackA, PackB, PackC       bool   // that the call copies to, or from, aligned rows in its workspace
		Then                      string // that is applied to C before it is rounded; empty: nothing
		Type                      domain.DType
		Label                     string
	}
	// Attention is one attention, or the gradient of one, with its plan. The first row
	// of queries stands at key Start, that of the next rank along an axis of a Mesh so many rows later.
	Attention struct {
		Name, Plan                                            string
		Layout, Gradients                                     string // constants of where operands, and gradients, lie; the latter empty: none
		Fn                                                    string `text:"quoted"` // as domain.AttentionOf reads it
		Batch, QueryHeads, KeyHeads, QueryRows, KeyRows, Size expr.Expr
		Start                                                 expr.Expr
		Mesh                                                  string // empty: Start is that of all ranks
		Axis                                                  int64
		Q, K, V, O                                            []expr.Expr // elements between batches, heads and rows
		GradQ, GradK, GradV, GradO                            []expr.Expr
		AlignQ, AlignK, AlignV, AlignO, AlignLogs             int64 // as a GEMM's
		AlignGradQ, AlignGradK, AlignGradV, AlignGradO        int64
		Type                                                  domain.DType
		Label                                                 string
	}
	// Kernel is a kernel of the program's own: one row of its result is Body of a row of its operands.
	// All values are fp32 on the way. Without Columns, operands are runs of as many elements, and all
	// of them are one row. The first operands are results: those of the steps with their names.
	Kernel struct {
		Name     string
		Columns  int64 // of a row
		Views    bool  // operands are strided along Axes that lead from row to row, and then along a row
		Axes     int64
		Results  int64
		Operands []string // their names in Body
		Types    []string // their element types; or InPositions
		Uses     []string // ForElement, ForColumn, ForRow or ForSeed
		Body     string   `text:"quoted"` // domain.Body as text
		Where    string   `text:"quoted"` // the statement of the spec that it is for, for a comment
	}
	// Events are the events that one statement records; the watchdog knows them by Label.
	Events struct {
		Name  string
		Label string `text:"quoted"`
		Count expr.Expr
		Where string // label of the statement
	}
	// Share is a buffer that other ranks read or write over CUDA IPC, with two flags, ready and
	// done, for each transfer of a call.
	Share struct {
		Name, Shape string // the handle in a call, the constant that describes it
		Memory      string // buffer or argument
		Tensor      string `text:"quoted"` // of the spec, or of a pass
		Elements    expr.Expr
		Type        domain.DType
		Transfers   expr.Expr
		Mesh        string // the ranks that share it are those along an axis of it; empty: all
		Axis        int64
		Label       string
	}
	// Label is what errors and the watchdog call a statement, with its place in the spec.
	Label struct {
		Name string
		Text string `text:"quoted"`
	}
)

// Steps is what a kernel computes.
func (k *Kernel) Steps() domain.Body {
	body, _ := domain.ParseBody(k.Body, k.Operands[min(int(k.Results), len(k.Operands)):])
	return body
}

// Kernel finds the program's kernel that a Launch names; nil for one of the runtime.
func (p *Program) Kernel(l *Launch) *Kernel {
	for _, k := range p.Kernels {
		if l.Own() && k.Name == l.Kernel {
			return k
		}
	}
	return nil
}

// Own reports whether a Launch is of one of the program's kernels.
func (l *Launch) Own() bool { return l.Fn == "" && l.Kernel != "positions" }
