package model

import (
	"maps"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Pipeline is the model of a spec: tensors on meshes, operations between them, and the choices of the schedule. It
// has no buffers or streams.
type Pipeline struct {
	Name     string
	Doc      string
	File     string // base name of the spec, or of the Go file that built it; see Builder.File
	Params   []Param
	Meshes   []*domain.Mesh // the world first
	Tensors  []*Tensor      // declared ones first, in order; then inferred ones in order of their operation
	Ops      []*Op
	Written  []*WrittenOp // the same operations, as the spec writes them
	Inputs   []*Tensor
	Outputs  []*Tensor
	Schedule schedule.Schedule
	src      source           // what Load or a Builder has read
	set      map[string]int64 // overrides of parameters
}

// With returns the same pipeline with other values for some parameters. Parameters that are computed from them
// change, too. Other parameters keep their overrides from loading. An error is a *diag.Errors.
func (p *Pipeline) With(params map[string]int64) (*Pipeline, error) {
	var list diag.List
	src, set := p.src, maps.Clone(p.set)
	if set == nil {
		set = map[string]int64{}
	}
	maps.Copy(set, params)
	other := assemble(&src, set, &list)
	return other, list.Err()
}

// Param is a named integer of the spec, after overrides.
type Param struct {
	Name  string
	Value int64
	Pos   diag.Pos
	Text  string // the expression that gave the value; empty for a plain number, and for an override
}

// Tensor is a logical tensor. Axes has its logical axes, including reduction axes.
type Tensor struct {
	Name      string
	DType     domain.DType
	Axes      []domain.Axis
	Mesh      *domain.Mesh
	Producer  *Op    // nil for an input
	Annotated bool   // the author declared its axes; otherwise they were inferred
	Scalar    bool   // declared without axes: its only axis has one element
	Fill      string // the fill of an input, one of domain.Fills; empty: the spec sets none, and eval.Fills derives it
	Pos       diag.Pos
}

// OpKind is the kind of a primitive operation. Most kinds have the name of their operation in specs.
type OpKind string

// The kinds of primitive operations.
const (
	OpSet    OpKind = "set"    // copy, or reshard
	OpMatmul OpKind = "matmul" // C[..., m, n] = A[..., m, k] B[k, n], or batched when B has batch axes
	OpLinear OpKind = "linear" // Y[..., n] = X[..., k] W[n, k]^T (+ bias[n])
	// OpBlockLinear is Y[..., n] = X[..., k] W[n, k]^T for fp8 operands X and W with scales S and T in fp32. S has a
	// scale for each domain.BlockRow elements of a row of X, and T for each square block of W. In is X, W, S, T.
	OpBlockLinear OpKind = "block_linear"
	OpBroadcast   OpKind = "broadcast" // adds an axis of one element
	OpPermute     OpKind = "permute"
	OpReshape     OpKind = "reshape"
	OpCast        OpKind = "cast"
	OpSlice       OpKind = "slice"     // the elements along Axis from index Start on, up to the extent of the result
	OpConcat      OpKind = "concat"    // the operands one after the other along Axis
	OpPositions   OpKind = "positions" // 0, 1, ... along Axis of the operand, or along an axis of a given size (Axis -1)
	OpUnary       OpKind = "unary"     // Fn: relu, gelu, silu, neg, exp, ...
	OpBinary      OpKind = "binary"    // Fn: add, sub, mul, div, max, min, ge, keep, ...
	OpReduce      OpKind = "reduce"    // Fn: sum, max, min, prod; over Axis
	// OpGather reads rows of a table, the first operand, whose numbers (ids) are in the second operand. A number
	// without a row gives zeros. Axis is the table's axis of rows, and the axes of the ids replace it in the result.
	// The first Batches axes of the ids are also the first axes of the table. If the table has blocks of rows, the
	// third operand has the number of the first row of each block. Its axes are also the first axes of the table.
	OpGather OpKind = "gather"
	// OpAttention is softmax(scale Q K^T) V, and L, the log-sum-exp of each row of scores; Fn is a text of domain.Attention.Fn.
	OpAttention OpKind = "attention"
	// OpAttentionGrad is the gradients of Q, K and V from dO, Q, K, V, O and L; Fn is as for OpAttention.
	OpAttentionGrad OpKind = "attention_grad"
	// OpDropout is X / (1 - p) where a random number is large enough, else 0. The number depends on the seed, the salt,
	// and the column and row of an element. Fn is a text of domain.Dropout.Fn.
	OpDropout OpKind = "dropout"
)

// Moves reports whether the results of an operation consist of unchanged elements of its operands.
func (k OpKind) Moves() bool {
	switch k {
	case OpSet, OpBroadcast, OpPermute, OpReshape, OpSlice, OpConcat:
		return true
	default:
		return false
	}
}

// Op is one operation: Out, More... = Kind(In...). Axis and Perm are indices of axes without reduction axes, as in
// domain.WithoutReductions.
type Op struct {
	Kind OpKind
	Fn   string // the function of a unary, binary or reduce operation ("gelu", "scale(0.5)"), of an attention, or of a dropout
	In   []*Tensor
	Out  *Tensor
	More []*Tensor // additional results
	// Axis is an axis of the first operand (reduce, slice, gather, and positions, where -1 stands for none) or of the result
	// (broadcast, concat).
	Axis    int
	Batches int           // gather: the number of leading axes that ids and table have in common
	Perm    []int         // permute: axis i of the result is axis Perm[i] of the operand
	Start   domain.Extent // slice: the index of the first element along the axis, 0 or more
	Pos     diag.Pos
	// Whole is the composite operation that this one is a part of, as specs spell it: "layer_norm(X, g, b)". The last
	// part computes its result. Empty: not part of a composite, or a slice of a split.
	Whole string
}

// WrittenOp is an operation as a spec writes it, without expanding composites: Out = Fn(In..., Attrs...).
type WrittenOp struct {
	Fn    string
	In    []*Tensor
	Out   []*Tensor
	Attrs []Attr
	Ops   []*Op // its primitive operations; several for most composites
	Pos   diag.Pos
}

// Attr is an attribute of an operation in a spec: one value, or a list.
type Attr struct {
	Name   string
	Values []string
	List   bool
}

// Attr finds an attribute by name. It returns nil if there is none.
func (o *WrittenOp) Attr(name string) *Attr {
	for i := range o.Attrs {
		if o.Attrs[i].Name == name {
			return &o.Attrs[i]
		}
	}
	return nil
}

// String prints the operation as specs do: "Q, K = split(A, axis=1)".
func (o *WrittenOp) String() string {
	var results, arguments []string
	for _, t := range o.Out {
		results = append(results, t.Name)
	}
	for _, t := range o.In {
		arguments = append(arguments, t.Name)
	}
	for _, attr := range o.Attrs {
		arguments = append(arguments, attr.String())
	}
	return strings.Join(results, ", ") + " = " + o.Fn + "(" + strings.Join(arguments, ", ") + ")"
}

// String prints the attribute: "perm=[1, 0]".
func (a Attr) String() string {
	value := strings.Join(a.Values, ", ")
	if a.List {
		value = "[" + value + "]"
	}
	return a.Name + "=" + value
}

// Results lists the results of an operation.
func (o *Op) Results() []*Tensor { return append([]*Tensor{o.Out}, o.More...) }

// UsualDType returns the most common type of the declared tensors, among the types in which operations compute. The
// default is bf16.
func (p *Pipeline) UsualDType() domain.DType {
	usual, counts := defaultDType, map[domain.DType]int{}
	for _, t := range p.Tensors {
		if t.Annotated && t.DType.Computes() {
			if counts[t.DType]++; counts[t.DType] > counts[usual] {
				usual = t.DType
			}
		}
	}
	return usual
}
