package align

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// Widest is the widest memory access of libraries and kernels, in bytes. No operand needs a larger alignment.
const Widest = 16

// Operand is memory that a statement accesses, with the alignment that the statement needs.
type Operand struct {
	Number   int16 // its number in the statement, as in lowering/prove/unroll
	At       calls.Pointer
	Size     int64 // of an element
	Needs    int64
	Declared *int64 // the field of the shape that can declare a smaller alignment than Widest; nil: there is none
}

// Needs computes what the statements of a program need.
type Needs struct {
	shapes     map[string]*calls.Shape
	attentions map[string]*calls.Attention
	values     calls.Values
}

// NeedsOf reads the declarations of a program.
func NeedsOf(p *calls.Program) *Needs {
	return &Needs{calls.ByName(p.Shapes), calls.ByName(p.Attentions), p.Values()}
}

// Of lists the operands of a statement that need more than the size of their elements. All other operands need no more. NCCL and
// copy engines accept any address. Kernels of the runtime and of the program check addresses at their launch, and access single
// elements, or bytes, if wider accesses are not aligned.
func (n *Needs) Of(s calls.Stmt) []Operand {
	switch s := s.(type) {
	case *calls.Gemm:
		if d := n.shapes[s.Shape]; d != nil {
			return n.gemm(s, d)
		}
	case *calls.Attend:
		if d := n.attentions[s.Attention]; d != nil {
			return n.attention(s, d)
		}
	}
	return nil
}

// gemm lists the operands of a GEMM. cuBLASLt gets the alignment of the rows of each matrix, and chooses an algorithm that fits.
// It has no such setting for the bias, and its documentation promises nothing. Some algorithms read the bias in accesses of 16
// bytes.
func (n *Needs) gemm(s *calls.Gemm, d *calls.Shape) []Operand {
	pick := func(transposed bool, columns, rows expr.Expr) expr.Expr {
		if transposed {
			return rows
		}
		return columns
	}
	in, out := d.Type.Size(), d.Result().Size()
	matrix := func(size int64, columns, stride, apart expr.Expr) int64 {
		if d.Batch == nil || d.Batch == expr.Int(1) {
			stride = nil
		}
		return n.rows(size, columns, stride, apart)
	}
	c := matrix(out, d.N, d.StrideC, nil)
	list := []Operand{
		{0, s.Out, out, declared(c, d.AlignC), &d.AlignC},
		{1, s.A, in, declared(matrix(in, pick(d.TransposeA, d.K, d.M), d.StrideA, nil), d.AlignA), &d.AlignA},
		{2, s.B, in, declared(matrix(in, pick(d.TransposeB, d.N, d.K), d.StrideB, d.RowB), d.AlignB), &d.AlignB},
	}
	if s.Addend != nil {
		list = append(list, Operand{3, *s.Addend, out, declared(c, d.AlignC), &d.AlignC})
	}
	if s.Bias != nil {
		list = append(list, Operand{4, *s.Bias, out, Widest, nil})
	}
	return list
}

// attention lists the operands of an attention. cuDNN, and the asynchronous copies of the tiled kernels, need rows that start at
// multiples of 16 bytes. If the declared alignment is smaller, the runtime uses tiled kernels that copy single elements.
func (n *Needs) attention(s *calls.Attend, d *calls.Attention) []Operand {
	var list []Operand
	for i, o := range []struct {
		at       calls.Pointer
		strides  []expr.Expr
		declared *int64
	}{
		{s.Q, d.Q, &d.AlignQ}, {s.K, d.K, &d.AlignK}, {s.V, d.V, &d.AlignV}, {s.O, d.O, &d.AlignO}, {s.Logs, nil, &d.AlignLogs},
		{s.GradO, d.GradO, &d.AlignGradO}, {s.GradQ, d.GradQ, &d.AlignGradQ}, {s.GradK, d.GradK, &d.AlignGradK}, {s.GradV, d.GradV, &d.AlignGradV},
	} {
		size, needs := domain.FP32.Size(), int64(Widest)
		if o.strides != nil { // logarithms are contiguous
			size = d.Type.Size()
			needs = n.rows(size, append([]expr.Expr{d.Size}, o.strides...)...)
		}
		if o.at.Base != "" {
			list = append(list, Operand{int16(i), o.at, size, declared(needs, *o.declared), o.declared})
		}
	}
	if s.Room.Base != "" {
		list = append(list, Operand{9, s.Room, calls.RoomType.Size(), Buffer, nil})
	}
	return list
}

// declared returns the need of an operand whose shape may declare a smaller alignment.
func declared(needs, align int64) int64 {
	if align == 0 {
		return needs
	}
	return min(needs, align)
}

// rows returns the alignment of all rows, if the first row is aligned to Widest. It depends on the distances between rows, in
// elements.
func (n *Needs) rows(size int64, apart ...expr.Expr) int64 {
	bytes := int64(Widest)
	for _, e := range apart {
		if e == nil {
			continue
		}
		value, _ := n.values.Eval(e)
		bytes = min(bytes, size*PowerOf(value))
	}
	return bytes
}
