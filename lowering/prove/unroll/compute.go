package unroll

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

func (i *issue) memcpy(s *calls.Memcpy) {
	on, ok := i.on(s, s.On)
	n, counted := i.value(s, s.Elements)
	if !ok || !counted {
		return
	}
	o := i.begin(s, Copy, on)
	i.run(s, 0, true, s.Out, s.Type.Size(), n)
	i.run(s, 1, false, s.In, s.Type.Size(), n)
	i.end(o)
}

// gemm has operands [batch, rows, columns]: out m, n; a m, k; b k, n. The bias has n elements.
func (i *issue) gemm(s *calls.Gemm) {
	d := i.shapes[s.Shape]
	if d == nil {
		i.fault(s, BadName, "no shape is called %s", s.Shape)
		return
	}
	on, ok := i.on(s, s.On)
	if !ok {
		return
	}
	g := i.gemms[d]
	if g == nil {
		g = i.newGemm(d)
		i.gemms[d] = g
	}
	o := i.begin(s, Gemm, on)
	for n, p := range []*calls.Pointer{&s.Out, &s.A, &s.B, s.Addend, s.Bias} {
		if p == nil {
			continue
		}
		if at, ok := i.at(s, *p); ok && i.there(s, int16(n), at, g.sizes[n]) {
			i.place(s, int16(n), n == 0, at, g.layouts[n])
		}
	}
	i.workspace(s, 5)
	i.end(o)
}

// gemm contains the layouts of the operands of a GEMM shape: out, a, b, addend, bias.
type gemm struct {
	sizes   [5]int64 // of elements
	layouts [5]int32
}

func (u *unroller) newGemm(d *calls.Shape) *gemm {
	size := func(e expr.Expr, absent int64) int64 {
		if e == nil {
			return absent
		}
		return u.constant(e)
	}
	m, n, k, batch := size(d.M, 0), size(d.N, 0), size(d.K, 0), size(d.Batch, 1)
	a := []int64{size(d.StrideA, 0), k, 1}
	if d.TransposeA {
		a = []int64{a[0], 1, m}
	}
	b := []int64{size(d.StrideB, 0), size(d.RowB, n), 1}
	if d.TransposeB {
		b = []int64{b[0], 1, size(d.RowB, k)}
	}
	c := []int64{size(d.StrideC, 0), n, 1}
	in, out := d.Type.Size(), d.Type.Size()
	if d.Fp32Result {
		out = domain.FP32.Size()
	}
	return &gemm{
		[5]int64{out, in, in, out, out}, // the bias has the type of the result
		[5]int32{
			u.layout(out, []int64{batch, m, n}, c),
			u.layout(in, []int64{batch, m, k}, a),
			u.layout(in, []int64{batch, k, n}, b),
			u.layout(out, []int64{batch, m, n}, c),
			u.layout(out, []int64{n}, []int64{1}),
		},
	}
}

// attend has operands [batch, head, row, size]; logarithms are [batch, query head, query row].
func (i *issue) attend(s *calls.Attend) {
	d := i.attends[s.Attention]
	if d == nil {
		i.fault(s, BadName, "no attention is called %s", s.Attention)
		return
	}
	on, ok := i.on(s, s.On)
	if !ok {
		return
	}
	batch, size := i.constant(d.Batch), i.constant(d.Size)
	queries := []int64{batch, i.constant(d.QueryHeads), i.constant(d.QueryRows), size}
	keys := []int64{batch, i.constant(d.KeyHeads), i.constant(d.KeyRows), size}
	logs := []int64{queries[1] * queries[2], queries[2], 1}
	o := i.begin(s, Attend, on)
	view := func(operand int16, write bool, p calls.Pointer, t domain.DType, extents, strides []int64) {
		if p.Base == "" {
			return
		}
		if at, ok := i.at(s, p); ok {
			i.touch(s, operand, write, at, t.Size(), extents, strides)
		}
	}
	strides := func(list []expr.Expr) []int64 { return append(i.constants(list), 1) }
	backward := s.GradO.Base != ""
	view(0, false, s.Q, d.Type, queries, strides(d.Q))
	view(1, false, s.K, d.Type, keys, strides(d.K))
	view(2, false, s.V, d.Type, keys, strides(d.V))
	view(3, !backward, s.O, d.Type, queries, strides(d.O))
	view(4, !backward, s.Logs, domain.FP32, queries[:3], logs)
	if backward {
		view(5, false, s.GradO, d.Type, queries, strides(d.GradO))
		view(6, true, s.GradQ, d.Type, queries, strides(d.GradQ))
		view(7, true, s.GradK, d.Type, keys, strides(d.GradK))
		view(8, true, s.GradV, d.Type, keys, strides(d.GradV))
	}
	if at, ok := i.at(s, s.Room); ok && at.of != nil {
		i.touch(s, 9, true, at, at.size, []int64{(at.of.end - at.of.first) / at.size}, []int64{1})
	} else if ok {
		i.workspace(s, 9)
	}
	i.end(o)
}

func (u *unroller) constants(list []expr.Expr) []int64 {
	values := make([]int64, len(list))
	for n, e := range list {
		values[n] = u.constant(e)
	}
	return values
}
