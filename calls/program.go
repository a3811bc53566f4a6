// Package calls is the call IR: the program as hirgen prints it, with one statement for each call of CUDA, NCCL or
// cuBLASLt. Package fromhost and the passes make it from the host IR. They choose the events that order streams, the
// flags that ranks write and wait for, the batches, and the names. Package interp runs it, so tests check the program
// that is printed.
//
// A statement names the stream that it runs on; there is no current stream. Names are names of the emitted program.
// Expressions use parameters, constants, StreamCount, loop variables, "rank" and numbers that Let declares. Pointers
// count elements.
package calls

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/transports"
)

// Program is one program with all its declarations and statements.
type Program struct {
	Name    string
	File    string // the spec to which positions refer
	Streams int    // number of compute streams; 0: none
	Graph   bool   // the body is captured as a CUDA graph, and replayed

	Params     []*Param
	Constants  []*Constant
	Meshes     []*Mesh // the first is the world
	Guards     []*Guard
	Teams      []*Team
	Arguments  []*Argument // inputs, then outputs, in the order in which the caller passes them
	Buffers    []*Buffer
	Shapes     []*Shape
	Attentions []*Attention
	Kernels    []*Kernel
	Events     []*Events
	Shares     []*Share
	Labels     []*Label
	Life       Life // the host steps around the calls
	Body       []Stmt
}

// Values of Kernel.Uses: how the elements of a kernel's operand are indexed.
const (
	ForElement = "element" // one element for each row and column
	ForColumn  = "column"  // one element for each column, the same in all rows
	ForRow     = "row"     // one element for each row, the same in all columns
	ForBlock   = "block"   // a result with one element for each block of columns that the kernel folds
	ForSeed    = "seed"    // a single int64, which is not converted to fp32
	ForAll     = "all"     // a single element, the same for all rows and columns
)

// InPositions is the type of a kernel's operand without memory: the value of an element is its position along an axis.
const InPositions = "positions"

// The declarations.
type (
	// Param is a parameter of the spec.
	Param struct {
		Name  string
		Spec  string `text:"quoted"` // name in the spec
		Value int64
		From  expr.Expr // its expression over earlier parameters in the spec; nil: the spec gives a number
	}
	// Constant is an extent that the program uses by name.
	Constant struct {
		Name  string
		Value expr.Expr
	}
	// Mesh is an ordered set of ranks in a grid of Extents, row-major.
	Mesh struct {
		Name    string
		Label   string `text:"quoted"` // name in the spec
		Axes    string `text:"quoted"` // the axes, for a comment: "x of D, y of 2"
		Extents []expr.Expr
		Ranks   []int64 // the world rank at each position; nil: 0, 1, 2, ...
	}
	// Guard is a condition. It holds on the ranks that are in at least one of Meshes.
	Guard struct {
		Name   string
		Meshes []string
	}
	// Team is a communicator and its stream. Its ranks are those along an axis of a mesh or, with Whole, all ranks of
	// the mesh.
	Team struct {
		Name  string
		Mesh  string
		Axis  int64  // index of the axis in the mesh
		Whole bool   // all ranks of the mesh, not only those along Axis
		Via   string // the transport; empty: NCCL
		Where string `text:"quoted"` // the team's name in error messages
	}
	// Argument is a tensor of the caller.
	Argument struct {
		Name     string
		Tensor   string `text:"quoted"` // the name in the spec
		Type     domain.DType
		Output   bool
		Used     bool        // the program mentions it
		Elements expr.Expr   // on one rank
		Mesh     string      // the mesh whose ranks have a part of it; empty: all ranks
		Shape    []expr.Expr // extents on one rank, outermost first, for a comment
	}
	// Buffer is memory that the program keeps from call to call, or a part of another buffer or of an output.
	Buffer struct {
		Name     string
		In       string // the buffer or output that contains it; empty: it has separate memory
		Offset   int64  // bytes from the start of In
		Arena    bool   // it exists only to contain other buffers
		Type     domain.DType
		Elements expr.Expr
		Guard    string      // the Guard for the ranks that have it; empty: all
		Where    string      `text:"quoted"` // its origin in the spec, for error messages
		Shape    []expr.Expr // extents of its axes, outermost first, for a comment
		// the Attention that uses it as scratch memory. If it is too small, the attention allocates memory itself
		Works       string
		First, Last string // labels of the first and last statement that use it, for a comment; empty: there is no such comment
		From        string `text:"quoted"` // a communication that fills it, in words, for a comment; may be empty
	}
	// Shape is one GEMM: C[m, n] = A[m, k] B[k, n], batched, with its plan.
	Shape struct {
		Name                      string
		Like                      string // an earlier Shape that differs only in names and label; empty: none
		Plan                      string
		M, N, K, Batch            expr.Expr
		StrideA, StrideB, StrideC expr.Expr // elements from one matrix of a batch to the next
		RowB                      expr.Expr // leading dimension of B, in elements; nil: dense
		AlignA, AlignB, AlignC    int64     // bytes to which all pointers are aligned, if the rows have a larger alignment; otherwise 0
		TransposeA, TransposeB    bool
		Bias, Addend              bool
		Scales                    bool   // A and B have scales for their blocks
		RowScales                 bool   // A has a scale for each row and B one for each column; there is one batch
		PackA, PackB, PackC       bool   // the call copies the operand to, or from, aligned rows in its workspace
		Then                      string // the epilogue: a function applied to C before rounding; empty: none
		Type                      domain.DType
		TypeB, TypeC              domain.DType // of B, and of C, the bias and the addend; empty: Type
		Label                     string
	}
	// Attention is one attention, or the gradient of one, with its plan. Query row 0 is at the position of key row
	// Start. With a Mesh, that position grows by QueryRows with each coordinate of the rank along Axis.
	Attention struct {
		Name, Plan string
		// constants for the layouts of operands and of gradients; Gradients is empty in a forward pass
		Layout, Gradients                                     string
		Fn                                                    string    `text:"quoted"` // in the syntax of domain.AttentionOf
		Batch, QueryHeads, KeyHeads, QueryRows, KeyRows, Size expr.Expr // Size: elements of a row of a head
		Start                                                 expr.Expr
		Mesh                                                  string // empty: all ranks have the same Start
		Axis                                                  int64
		Q, K, V, O                                            []expr.Expr // strides of batches, heads and rows, in elements
		GradQ, GradK, GradV, GradO                            []expr.Expr
		AlignQ, AlignK, AlignV, AlignO, AlignLogs             int64 // as in Shape
		AlignGradQ, AlignGradK, AlignGradV, AlignGradO        int64
		Type                                                  domain.DType
		Deterministic                                         bool // a gradient has the same bits in every run; this excludes cuDNN
		Label                                                 string
	}
	// Kernel is a kernel of the program. Body computes one row of the results from one row of the operands, or reduces
	// all rows to one. Values are in fp32, except seeds. Without Columns, all operands have the same number of
	// elements, and form one row. The first Results operands are results, and have the names of the steps whose values
	// they store.
	Kernel struct {
		Name     string
		Columns  int64     // elements in a row
		Row      expr.Expr // Columns as an expression, for a comment and for proofs with other parameters; nil: unknown
		Views    bool      // operands have Axes strides for the rows, and one stride within a row
		Axes     int64
		Results  int64
		Operands []string // their names in Body
		Types    []string // their element types, or InPositions
		Uses     []string // ForElement, ForColumn, ForRow, ForBlock, ForSeed or ForAll
		Arrives  []string // operands that a RowExchange receives; nil: the kernel is not part of one
		Body     string   `text:"quoted"` // domain.Body as text
		Where    string   `text:"quoted"` // position in the spec, and the kernel's computation in words, for a comment
	}
	// Events is the set of events that one statement records. The watchdog reports Label.
	Events struct {
		Name  string
		Label string `text:"quoted"`
		Count expr.Expr
		Where string // the Label of the statement
	}
	// Share is memory that other ranks read or write over CUDA IPC. Each transfer of a call has two flags, ready and
	// done.
	Share struct {
		Name, Shape string // the name of the handle in a call; the name of the constant that describes the share
		Memory      string // the buffer or argument
		Tensor      string `text:"quoted"` // the name of the memory's tensor
		Elements    expr.Expr
		Type        domain.DType
		Transfers   expr.Expr // number of transfers in a call
		Rows        expr.Expr // rows of a RowExchange, in which each row of a transfer has these flags; nil: no RowExchange uses it
		Mesh        string    // the ranks of a node along Axis of this mesh share the memory; empty: all ranks of a node
		Axis        int64
		Label       string
	}
	// Label is the text that names a statement in errors and in the watchdog's reports, with its position in the spec.
	Label struct {
		Name string
		Text string `text:"quoted"`
	}
)

// Library names the library of a team in messages.
func (t *Team) Library() string { return transports.Named(cmp.Or(t.Via, transports.NCCL)).Title }

// Steps parses the body of a kernel. It returns nil if the body is not valid.
func (k *Kernel) Steps() domain.Body {
	body, _ := domain.ParseBody(k.Body, k.Operands[min(int(k.Results), len(k.Operands)):])
	return body
}

// NeedsRow reports whether a thread of a kernel needs other elements of its row, as in a reduction. Without them, several
// blocks of threads can compute one row.
func (k *Kernel) NeedsRow() bool { return slices.ContainsFunc(k.Steps(), domain.Step.NeedsRow) }

// InParts reports whether several blocks of threads compute one row of a kernel however many rows there are: the row is
// long, and no thread needs the rest of it.
func (k *Kernel) InParts() bool { return k.Columns > domain.LongestRow && !k.NeedsRow() }

// Kernel returns the program's kernel that a Launch uses. It returns nil for kernels of the runtime, and if the program
// has no kernel of that name.
func (p *Program) Kernel(l *Launch) *Kernel {
	for _, k := range p.Kernels {
		if l.Own() && k.Name == l.Kernel {
			return k
		}
	}
	return nil
}

// Launch returns the launch at the end of Body, whose kernel reads the rows; nil: there is none.
func (x *RowExchange) Launch() *Launch {
	l, _ := x.Body[len(x.Body)-1].(*Launch)
	return l
}

// On returns the stream of the exchange's kernel, which is always the caller's.
func (x *RowExchange) On() Stream { return Stream{Name: Caller} }

// Gathers reports whether a Launch uses the kernel gather of the runtime.
func (l *Launch) Gathers() bool { return !l.Own() && l.Kernel == "gather" }

// TopK is the kernel of the runtime that selects the largest elements of rows. It is the only runtime kernel with two
// results.
const TopK = "top_k"

// Own reports whether a Launch uses a kernel of the program.
func (l *Launch) Own() bool { return l.Fn == "" && l.Kernel != "positions" }
