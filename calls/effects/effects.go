// Package effects lists the memory that copies, GEMMs, attentions and kernels access, element by element. The
// interpreter, the passes, the prover and the cost model use this table.
package effects

import (
	"cmp"
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Operand is memory that a statement accesses. Its element [i, j] is i*Strides[0] + j*Strides[1] elements after At. A
// stride may be 0.
type Operand struct {
	Number           int16         // identifies the operand within its statement: Out, A, Q and so on
	At               calls.Pointer // with an empty Base there is no memory, and the value of an element is its offset
	Write            bool
	Type             domain.DType
	Extents, Strides []expr.Expr // outermost first
	Rest             bool        // the operand is all of its buffer from At on, and has no extents
	Alike            bool        // a result that may overwrite operands, or an operand that such a result may overwrite: equal type and layout
	Align            int64       // the alignment in bytes that At needs
	Declared         *int64      // the field of the Shape or Attention that can declare a smaller alignment; nil: none
}

// Numbers of operands, by the type of the statement. The operands In of a Launch have the numbers 1, 2, and so on.
const (
	Out = 0 // the result of all statements except Attend
	In  = 1 // of Memcpy and Transfer
	Own = 1 // of PeerSum; each of its parts is a statement of its own

	A             = 1 // of Gemm, as are the numbers up to gemmWorkspace
	B             = 2
	Addend        = 3
	Bias          = 4
	ScalesA       = 5
	ScalesB       = 6
	gemmWorkspace = 7

	Q               = 0 // of Attend, as are all numbers below
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

// Alter changes the operands of a statement in all tables. It is nil, except while internal/tools/recall tests wrong
// programs.
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

// New returns the table of a program. Of computes the operands of a statement on first use.
func New(p *calls.Program) *Table {
	return &Table{calls.ByName(p.Shapes), calls.ByName(p.Attentions), calls.ByName(p.Kernels), p, p.Values(), map[calls.Stmt][]Operand{}}
}

// Of lists the operands of a Memcpy, Transfer, Gemm, Attend, Launch or PeerSum. It returns none for other statements.
// The first operand is the result, except in attentions. Of caches the list. It is an error if the Shape or Attention
// of a statement is not declared, or if an operand has different numbers of strides and extents.
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
		switch d := t.shapes[s.Shape]; {
		case d == nil:
			return nil, fmt.Errorf("no shape is called %s", s.Shape)
		case !d.Fits(s, t.values):
			return nil, fmt.Errorf("the operands do not fit shape %s", s.Shape)
		default:
			return t.gemm(s, d), nil
		}
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

// layout returns a text that is equal for operands with the same type, extents and strides.
func (o *Operand) layout() string { return fmt.Sprint(o.Type, o.Extents, o.Strides) }

// WorkspaceOf returns the operand number by which the workspace of a GEMM or an attention is identified.
func WorkspaceOf(s calls.Stmt) int16 {
	if _, ok := s.(*calls.Gemm); ok {
		return gemmWorkspace
	}
	return attendWorkspace
}

// copied lists the result and the operand of a copy of contiguous elements.
func copied(out, in calls.Pointer, t domain.DType, elements expr.Expr) []Operand {
	extents, strides := []expr.Expr{elements}, []expr.Expr{expr.Int(1)}
	return []Operand{
		{Number: Out, At: out, Write: true, Type: t, Extents: extents, Strides: strides},
		{Number: In, At: in, Type: t, Extents: extents, Strides: strides},
	}
}

// needs returns the alignment in bytes that an operand and all its rows have if its first row is aligned to
// align.Widest. It depends on the strides, and on the length of the contiguous axis. A Shape or Attention may declare a
// smaller alignment.
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
