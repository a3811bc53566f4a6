// Package calls is the call IR: the program as it is printed, with one statement for each call of CUDA, NCCL or cuBLASLt.
// fromhost and passes make it from the host IR. They choose the events that order streams, the flags that ranks write and wait
// for, the batches, and the names. interp runs this program, so tests check the program that is printed.
//
// A statement names the stream that it runs on; there is no current stream. Names are names of the emitted program.
// Expressions use parameters, constants, StreamCount, loop variables, "rank" and numbers that Let declares. Pointers count elements.
package calls

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/transports"
)

// Program is one program with all its declarations.
type Program struct {
	Name    string
	File    string // the spec that positions refer to
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

// How the elements of a kernel's operand are indexed.
const (
	ForElement = "element" // one for each row and column
	ForColumn  = "column"  // one for each column, the same in all rows
	ForRow     = "row"     // one for each row, the same in all columns
	ForSeed    = "seed"    // a single int64, which is not converted to fp32
)

// InPositions is the type of a kernel's operand without memory: the value of an element is its position.
const InPositions = "positions"

// The declarations.
type (
	// Param is a parameter of the spec.
	Param struct {
		Name  string
		Spec  string `text:"quoted"` // name in the spec
		Value int64
		From  expr.Expr // its expression of earlier parameters in the spec; nil: a number
	}
	// Constant is an extent that several places of the program name.
	Constant struct {
		Name  string
		Value expr.Expr
	}
	// Mesh is an ordered set of ranks.
	Mesh struct {
		Name    string
		Label   string `text:"quoted"` // name in the spec
		Axes    string `text:"quoted"` // the axes, for a comment: "x of D, y of 2"
		Extents []expr.Expr
		Ranks   []int64 // nil: 0, 1, 2, ...
	}
	// Guard is a condition. It holds on the ranks that are in at least one of Meshes.
	Guard struct {
		Name   string
		Meshes []string
	}
	// Team is a communicator and its stream. Its ranks are those along an axis of a mesh, or with Whole all ranks of the mesh.
	Team struct {
		Name  string
		Mesh  string
		Axis  int64
		Whole bool   // the whole mesh, not an axis
		Via   string // the transport; empty: NCCL
		Where string `text:"quoted"` // name in error messages
	}
	// Argument is a tensor of the caller.
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
	// Buffer is memory that the program keeps from call to call, or a part of another buffer or of an output.
	Buffer struct {
		Name     string
		In       string // the buffer or output that contains it; empty: separate memory
		Offset   int64  // bytes from the start of In
		Arena    bool   // it only contains other buffers
		Type     domain.DType
		Elements expr.Expr
		Guard    string      // the ranks that have it; empty: all
		Where    string      `text:"quoted"` // name in error messages
		Shape    []expr.Expr // for a comment
		// the attention that uses it as scratch memory, if it is large enough; otherwise the attention gets separate memory
		Works       string
		First, Last string // labels of the first and last statement that use it, for a comment; empty: there is no such comment
		From        string `text:"quoted"` // a communication that fills it, in words, for a comment; may be empty
	}
	// Shape is one GEMM: C[m, n] = A[m, k] B[k, n], batched, with its plan.
	Shape struct {
		Name                      string
		Like                      string // an earlier shape that differs in the plan and the label alone; empty: none
		Plan                      string
		M, N, K, Batch            expr.Expr
		StrideA, StrideB, StrideC expr.Expr
		RowB                      expr.Expr // elements between rows of B in memory; nil: dense
		AlignA, AlignB, AlignC    int64     // bytes to which all pointers are aligned, if less than the rows are; otherwise 0
		TransposeA, TransposeB    bool
		Bias, Addend              bool
		Scales                    bool   // A and B have scales of blocks
		PackA, PackB, PackC       bool   // the call copies the operand to, or from, aligned rows in its workspace
		Then                      string // applied to C before rounding; empty: nothing
		Type                      domain.DType
		TypeB, TypeC              domain.DType // of B, and of C, the bias and the addend; empty: Type
		Label                     string
	}
	// Attention is one attention, or the gradient of one, with its plan. Query row 0 has the position of key row Start. With a Mesh,
	// that position grows by QueryRows from each coordinate along Axis to the next.
	Attention struct {
		Name, Plan string
		// constants for the layouts of operands and gradients; Gradients is empty in a forward pass
		Layout, Gradients                                     string
		Fn                                                    string `text:"quoted"` // in the syntax of domain.AttentionOf
		Batch, QueryHeads, KeyHeads, QueryRows, KeyRows, Size expr.Expr
		Start                                                 expr.Expr
		Mesh                                                  string // empty: all ranks have the same Start
		Axis                                                  int64
		Q, K, V, O                                            []expr.Expr // elements between batches, heads and rows
		GradQ, GradK, GradV, GradO                            []expr.Expr
		AlignQ, AlignK, AlignV, AlignO, AlignLogs             int64 // as in Shape
		AlignGradQ, AlignGradK, AlignGradV, AlignGradO        int64
		Type                                                  domain.DType
		Deterministic                                         bool // a gradient has the same bits in every run; this excludes cuDNN
		Label                                                 string
	}
	// Kernel is a kernel of the program. Body computes one row of the results from one row of the operands, or folds all rows into
	// one. Values are in fp32, except seeds. Without Columns, all operands have the same number of elements, and form one row. The
	// first Results operands are results, named like the steps that they store.
	Kernel struct {
		Name     string
		Columns  int64     // elements in a row
		Row      expr.Expr // Columns in the names of the program, for a comment; nil: unknown
		Views    bool      // operands have Axes strides from row to row, and one within a row
		Axes     int64
		Results  int64
		Operands []string // their names in Body
		Types    []string // their element types; or InPositions
		Uses     []string // ForElement, ForColumn, ForRow or ForSeed
		Arrives  []string // operands that a RowExchange receives; nil: the kernel is not part of one
		Body     string   `text:"quoted"` // domain.Body as text
		Where    string   `text:"quoted"` // a place in the spec, and words for what it computes, for a comment
	}
	// Events are the events that one statement records. The watchdog reports Label.
	Events struct {
		Name  string
		Label string `text:"quoted"`
		Count expr.Expr
		Where string // label of the statement
	}
	// Share is memory that other ranks read or write over CUDA IPC. Each transfer of a call has two flags, ready and done.
	Share struct {
		Name, Shape string // the handle in a call; the constant that describes the share
		Memory      string // buffer or argument
		Tensor      string `text:"quoted"` // of the spec, or of a pass
		Elements    expr.Expr
		Type        domain.DType
		Transfers   expr.Expr
		Rows        expr.Expr // of a RowExchange, where each row of a transfer has these flags; nil: no RowExchange uses it
		Mesh        string    // the ranks of a node along an axis of it share the memory; empty: all ranks of a node
		Axis        int64
		Label       string
	}
	// Label is the text with which errors and the watchdog name a statement, including its position in the spec.
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

// InParts reports whether several blocks compute a row of a kernel: the row is long, and the kernel does not reduce it.
func (k *Kernel) InParts() bool {
	const longest = 1 << 14 // elements that a block computes well
	return k.Columns > longest && !slices.ContainsFunc(k.Steps(), domain.Step.Folds)
}

// Kernel returns the program's kernel that a Launch uses; nil for kernels of the runtime, or if there is none of that name.
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

// On returns the stream of the kernel, which is always the caller's.
func (x *RowExchange) On() Stream { return Stream{Name: Caller} }

// Gathers reports whether a Launch uses the kernel gather of the runtime.
func (l *Launch) Gathers() bool { return !l.Own() && l.Kernel == "gather" }

// TopK is the kernel of the runtime that selects the largest elements of rows, and the only one with a second result.
const TopK = "top_k"

// Own reports whether a Launch uses a kernel of the program.
func (l *Launch) Own() bool { return l.Fn == "" && l.Kernel != "positions" }
