package cost

import (
	"cmp"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// workOf returns the work of a statement that computes on one rank. fixed reports whether the work is the same on all ranks and in
// all iterations.
func (r *rank) workOf(s calls.Stmt) (w work, fixed bool) {
	m := r.machine
	if s, ok := s.(*calls.Gemm); ok {
		size := r.gemmSize(s)
		r.sizes[s] = size
		return m.gemmWork(size), true
	}
	bytes, fixed := r.bytesOf(s)
	if s, ok := s.(*calls.Attend); ok {
		for _, d := range r.program.Attentions {
			if d.Name == s.Attention {
				return m.attentionWork(attentionSize(r.program, d, bytes)), true
			}
		}
	}
	return m.bytesWork(float64(bytes)), fixed
}

// bytesOf returns the bytes that a statement reads and writes, each element once, without scratch memory. A gather reads as much of
// its table as it writes.
func (r *rank) bytesOf(s calls.Stmt) (total int64, fixed bool) {
	list, err := r.effects.Of(s)
	if err != nil {
		r.fail(err)
	}
	fixed = true
	l, launches := s.(*calls.Launch)
	for i := range list {
		o := &list[i]
		if launches && l.Gathers() && i == 1 {
			o = &list[0]
		}
		if o.Rest || o.Type == calls.InPositions || o.At.Base == "" {
			continue
		}
		bytes := o.Type.Size()
		for axis, e := range o.Extents {
			if o.Strides[axis] == expr.Int(0) {
				continue
			}
			n, _ := r.walk.Value(s, e)
			bytes *= n
			fixed = fixed && r.world.Fixed(e)
		}
		total += bytes
	}
	return total, fixed
}

// gemmSize returns the size of a GEMM. If all batches share B, they count as one GEMM with the rows of all. An epilogue costs as
// much as reading the result.
func (r *rank) gemmSize(s *calls.Gemm) GEMMSize {
	var d *calls.Shape
	for _, shape := range r.program.Shapes {
		if shape.Name == s.Shape {
			d = shape
		}
	}
	number := func(e expr.Expr, otherwise int64) int64 {
		if e == nil {
			return otherwise
		}
		return r.world.Constant(e)
	}
	p := GEMMSize{
		M: number(d.M, 1), N: number(d.N, 1), K: number(d.K, 1), Batch: number(d.Batch, 1), DType: d.Type, Result: d.Result(),
		typeB: cmp.Or(d.TypeB, d.Type), transposed: d.TransposeB, rowScales: d.RowScales, blockScales: d.Scales,
	}
	if p.RowA = p.K; d.TransposeA {
		p.RowA = p.M
	}
	if p.RowB = number(d.RowB, p.N); d.TransposeB {
		p.RowB = number(d.RowB, p.K)
	}
	if number(d.StrideB, 0) == 0 {
		p.M, p.Batch = p.M*p.Batch, 1
	}
	result := p.M * p.N * p.Batch * p.Result.Size()
	if s.Addend != nil {
		p.Extra += result
	}
	if s.Bias != nil {
		p.Extra += p.N * p.Result.Size()
	}
	if d.Then != "" {
		p.Extra += result
	}
	return p
}

// attentionSize returns the size of an attention on the first rank.
func attentionSize(p *calls.Program, d *calls.Attention, bytes int64) AttentionSize {
	first := *d
	first.Mesh = ""
	kind, _ := domain.AttentionOf(d.Fn)
	return AttentionSize{p.AttentionShape(&first, 0), kind, d.Type, d.Gradients != "", bytes}
}
