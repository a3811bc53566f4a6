package interp

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/align"
	"github.com/hirgen/hirgen/model/domain"
)

// compute issues copies, GEMMs and kernels.
func (r *rank) compute(s calls.Stmt) error {
	var on calls.Stream
	var run func() error
	var err error
	switch s := s.(type) {
	case *calls.Memcpy:
		on = s.On
		run, err = r.memcpy(s)
	case *calls.Gemm:
		on = s.On
		run, err = r.gemm(s)
	case *calls.Attend:
		on = s.On
		run, err = r.attend(s)
	case *calls.Launch:
		on = s.On
		run, err = r.launch(s)
	default:
		return r.fail(s, "the interpreter does not know it")
	}
	if err == nil {
		err = r.aligned(s)
	}
	if err != nil {
		return err
	}
	stream, err := r.on(s, on)
	if err != nil {
		return err
	}
	if g, ok := s.(*calls.Gemm); ok {
		if run, err = r.inWorkspace(g, stream, run); err != nil {
			return err
		}
	}
	t := r.issue(s, stream, run)
	if m, ok := s.(*calls.Memcpy); ok && r.reaches(m) {
		r.communicates(t, t)
	}
	return nil
}

// aligned rejects operands that are not aligned as libraries need.
func (r *rank) aligned(s calls.Stmt) error {
	for _, o := range r.machine.needs.Of(s) {
		at, err := r.at(s, o.At)
		if err != nil {
			return err
		}
		if bytes := align.PowerOf(at.at * o.Size); bytes < o.Needs {
			return r.fail(s, "%s is aligned to %d bytes, and has to be to %d", o.At, bytes, o.Needs)
		}
	}
	return nil
}

func (r *rank) memcpy(s *calls.Memcpy) (func() error, error) {
	out, err := r.slice(s, s.Out, s.Elements)
	if err != nil {
		return nil, err
	}
	in, err := r.slice(s, s.In, s.Elements)
	return func() error { copy(out, in); return nil }, err
}

// matrix is an operand of a GEMM: element (i, j) of batch b is data[at + b*batch + i*row + j*column].
type matrix struct {
	place
	batch, row, column int64
}

func (m matrix) get(b, i, j int64) float64 { return m.data[m.at+b*m.batch+i*m.row+j*m.column] }

// gemm multiplies like cuBLASLt with the plan of the shape: sums are fp32 and rounded once.
func (r *rank) gemm(s *calls.Gemm) (func() error, error) {
	d := r.machine.shapes[s.Shape]
	if d == nil {
		return nil, r.fail(s, "no shape is named %s", s.Shape)
	}
	size := func(e expr.Expr, absent int64) int64 {
		if e == nil {
			return absent
		}
		n, _ := r.env.Eval(e)
		return n
	}
	m, n, k, batch := size(d.M, 0), size(d.N, 0), size(d.K, 0), size(d.Batch, 1)
	a := matrix{batch: size(d.StrideA, 0), row: k, column: 1}
	if d.TransposeA {
		a.row, a.column = 1, m
	}
	b := matrix{batch: size(d.StrideB, 0), row: size(d.RowB, n), column: 1}
	if d.TransposeB {
		b.row, b.column = 1, size(d.RowB, k)
	}
	c := matrix{batch: size(d.StrideC, 0), row: n, column: 1}
	added, bias := c, matrix{}
	for _, operand := range []struct {
		to *matrix
		at *calls.Pointer
	}{{&a, &s.A}, {&b, &s.B}, {&c, &s.Out}, {&added, s.Addend}, {&bias, s.Bias}} {
		if operand.at == nil {
			continue
		}
		var err error
		if operand.to.place, err = r.at(s, *operand.at); err != nil {
			return nil, err
		}
	}
	for _, last := range []struct {
		matrix
		rows, columns int64
	}{{a, m, k}, {b, k, n}, {c, m, n}} {
		end := (batch-1)*last.batch + (last.rows-1)*last.row + (last.columns-1)*last.column + 1
		if _, err := r.run(s, last.place, end); err != nil {
			return nil, err
		}
	}
	dtype := d.Type
	if d.Fp32Result {
		dtype = domain.FP32
	}
	then := domain.Epilogue(d.Then)
	return func() error {
		for q := range batch {
			for i := range m {
				for j := range n {
					sum := float32(0)
					for l := range k {
						sum += float32(a.get(q, i, l) * b.get(q, l, j))
					}
					value := float64(sum)
					if s.Bias != nil {
						value += bias.data[bias.at+j]
					}
					if s.Addend != nil {
						value += added.get(q, i, j)
					}
					c.data[c.at+q*c.batch+i*n+j] = dtype.Round(then(value))
				}
			}
		}
		return nil
	}, nil
}
