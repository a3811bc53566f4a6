// Package effects lists the memory that copies, GEMMs, attentions and kernels access, element by element. The interpreter, the
// passes, the prover and the cost model use this table.
package effects

import (
	"cmp"
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Operand is memory that a statement accesses. Its element [i, j] is i*Strides[0] + j*Strides[1] elements after At. A stride may
// be 0.
type Operand struct {
	Number           int16         // within the statement
	At               calls.Pointer // an empty Base: no memory; the value of an element is its offset
	Write            bool
	Type             domain.DType
	Extents, Strides []expr.Expr // outermost first
	Rest             bool        // all elements from At to the end of its buffer, without extents
	Alike            bool        // a result that may overwrite operands in place, or such an operand, which has its type and layout
	Align            int64       // bytes to which At has to be aligned
	Declared         *int64      // the field of the Shape or Attention that can declare a smaller alignment; nil: none
}

// Numbers of operands. The operands In of a Launch have the numbers 1, 2, and so on.
const (
	Out = 0 // of all except Attend
	In  = 1 // of Memcpy and Transfer
	Own = 1 // of PeerSum; its parts are statements

	A             = 1 // of Gemm
	B             = 2
	Addend        = 3
	Bias          = 4
	ScalesA       = 5
	ScalesB       = 6
	gemmWorkspace = 7

	Q               = 0 // of Attend
	K               = 1
	V               = 2
	O               = 3
	Logs            = 4
	GradO           = 5
	GradQ           = 6
	GradK           = 7
	GradV           = 8
	Scratch         = 9
	attendWorkspace = Scratch
)

// Alter changes the operands of a statement for all users of tables. It is nil, unless internal/tools/recall seeds a mistake.
var Alter func(s calls.Stmt, list []Operand) []Operand

// Table lists the operands of a program's statements.
type Table struct {
	shapes     map[string]*calls.Shape
	attentions map[string]*calls.Attention
	kernels    map[string]*calls.Kernel
	program    *calls.Program
	values     calls.Values
	known      map[calls.Stmt][]Operand
}

// New returns the table of a program, without operands so far.
func New(p *calls.Program) *Table {
	return &Table{calls.ByName(p.Shapes), calls.ByName(p.Attentions), calls.ByName(p.Kernels), p, p.Values(), map[calls.Stmt][]Operand{}}
}

// Of lists the operands of a copy, a GEMM, an attention, a kernel or a sum that reads peer memory. All except attentions begin
// with the result. Of lists none for other statements. It caches the list. It is an error if the shape or the attention of a
// statement is not declared, or if an operand has different numbers of strides and extents.
func (t *Table) Of(s calls.Stmt) ([]Operand, error) {
	if list, ok := t.known[s]; ok {
		return list, nil
	}
	list, err := t.list(s)
	if err != nil {
		return nil, err
	}
	if Alter != nil {
		list = Alter(s, list)
	}
	for i := range list {
		o := &list[i]
		if !o.Rest && len(o.Extents) != len(o.Strides) {
			return nil, fmt.Errorf("operand %d has %d strides for %d axes", o.Number, len(o.Strides), len(o.Extents))
		}
		o.Alike = o.Alike && o.layout() == list[Out].layout()
		o.Align = cmp.Or(o.Align, o.Type.Size())
	}
	t.known[s] = list
	return list, nil
}

func (t *Table) list(s calls.Stmt) ([]Operand, error) {
	switch s := s.(type) {
	case *calls.Memcpy:
		return copied(s.Out, s.In, s.Type, s.Elements), nil
	case *calls.Transfer:
		return copied(s.Out, s.In, s.Type, s.Elements), nil
	case *calls.PeerSum:
		return copied(s.Out, s.Own, s.Type, s.Elements), nil
	case *calls.Gemm:
		if d := t.shapes[s.Shape]; d != nil {
			return t.gemm(s, d), nil
		}
		return nil, fmt.Errorf("no shape is called %s", s.Shape)
	case *calls.Attend:
		if d := t.attentions[s.Attention]; d != nil {
			return t.attention(s, d), nil
		}
		return nil, fmt.Errorf("no attention is called %s", s.Attention)
	case *calls.Launch:
		if k := t.kernels[s.Kernel]; k != nil && s.Own() {
			return rows(s, k), nil
		}
		return views(s), nil
	}
	return nil, nil
}

// layout describes the type and the layout of an operand.
func (o *Operand) layout() string { return fmt.Sprint(o.Type, o.Extents, o.Strides) }

// WorkspaceOf returns the operand number that stands for the workspace of a GEMM or an attention.
func WorkspaceOf(s calls.Stmt) int16 {
	if _, ok := s.(*calls.Gemm); ok {
		return gemmWorkspace
	}
	return attendWorkspace
}

// copied lists contiguous operands.
func copied(out, in calls.Pointer, t domain.DType, elements expr.Expr) []Operand {
	extents, strides := []expr.Expr{elements}, []expr.Expr{expr.Int(1)}
	return []Operand{
		{Number: Out, At: out, Write: true, Type: t, Extents: extents, Strides: strides},
		{Number: In, At: in, Type: t, Extents: extents, Strides: strides},
	}
}

// needs returns the alignment of all rows of an operand if the first row is aligned to align.Widest. It depends on the length
// of rows and on the distances between them. A Shape or Attention may declare a smaller alignment.
func (t *Table) needs(o *Operand) int64 {
	bytes := int64(align.Widest)
	for i, stride := range o.Strides {
		if stride == expr.Int(1) {
			stride = o.Extents[i]
		}
		if stride != nil {
			value, _ := t.values.Eval(stride)
			bytes = min(bytes, o.Type.Size()*align.PowerOf(value))
		}
	}
	if o.Declared != nil && *o.Declared != 0 {
		bytes = min(bytes, *o.Declared)
	}
	return bytes
}
