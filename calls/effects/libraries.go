package effects

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// gemm lists the operands of a GEMM. Matrices are [batch, rows, columns], and the bias is [N]. cuBLASLt accepts an
// addend at the address of the result. The runtime tells cuBLASLt the alignment of the rows of each matrix, and
// cuBLASLt chooses an algorithm that fits. cuBLASLt has no such setting for the bias, and its documentation requires no
// alignment of it. Some algorithms read 16 bytes of the bias at once, so the bias needs that alignment.
func (t *Table) gemm(s *calls.Gemm, d *calls.Shape) []Operand {
	list := []Operand{
		{Number: Out, At: s.Out, Write: true, Type: d.Result(), Declared: &d.AlignC, Alike: d.Result() == d.Type},
		{Number: A, At: s.A, Type: d.Type, Declared: &d.AlignA},
		{Number: B, At: s.B, Type: cmp.Or(d.TypeB, d.Type), Declared: &d.AlignB},
	}
	list[Out].matrices(d.Batch, d.StrideC, d.M, d.N, nil, false)
	list[A].matrices(d.Batch, d.StrideA, d.M, d.K, nil, d.TransposeA)
	list[B].matrices(d.Batch, d.StrideB, d.K, d.N, d.RowB, d.TransposeB)
	if s.Addend != nil {
		addend := list[Out]
		addend.Number, addend.At, addend.Write = Addend, *s.Addend, false
		list = append(list, addend)
	}
	for i := range list {
		list[i].Align = t.needs(&list[i])
	}
	switch {
	case s.ScalesA == nil:
	case d.RowScales:
		list = append(list, scales(ScalesA, *s.ScalesA, d.M), scales(ScalesB, *s.ScalesB, d.N))
	default:
		list = append(list, scales(ScalesA, *s.ScalesA, d.M, inBlocks(d.K)), scales(ScalesB, *s.ScalesB, inBlocks(d.N), inBlocks(d.K)))
	}
	if s.Bias != nil {
		list = append(list, Operand{
			Number: Bias, At: *s.Bias, Type: d.Result(), Extents: []expr.Expr{d.N}, Strides: []expr.Expr{expr.Int(1)}, Align: align.Widest,
		})
	}
	return list
}

// scales returns the operand with the scales of a matrix: of its blocks, [rows, columns], or of its rows or columns,
// [count]. The runtime copies scales of blocks to the layout that cuBLASLt reads, and the others if they are unaligned.
func scales(number int16, at calls.Pointer, extents ...expr.Expr) Operand {
	strides := []expr.Expr{expr.Int(1)}
	if len(extents) == 2 {
		strides = []expr.Expr{extents[1], expr.Int(1)}
	}
	return Operand{Number: number, At: at, Type: domain.FP32, Extents: extents, Strides: strides}
}

// inBlocks returns the number of blocks of domain.BlockRow elements in a number of elements.
func inBlocks(elements expr.Expr) expr.Expr { return expr.Op("/", elements, expr.Int(domain.BlockRow)) }

// matrices sets the layout of a batch of matrices [batch, rows, columns]. apart is the distance between matrices of the
// batch. row is the distance between rows, or between columns if transposed; nil: dense. Distances are in elements.
func (o *Operand) matrices(batch, apart, rows, columns, row expr.Expr, transposed bool) {
	if batch == nil || batch == expr.Int(1) || apart == nil {
		apart = expr.Int(0)
	}
	if batch == nil {
		batch = expr.Int(1)
	}
	if row == nil {
		row = columns
		if transposed {
			row = rows
		}
	}
	o.Extents, o.Strides = []expr.Expr{batch, rows, columns}, []expr.Expr{apart, row, expr.Int(1)}
	if transposed {
		o.Strides[1], o.Strides[2] = o.Strides[2], o.Strides[1]
	}
}

// attention lists the operands of an attention: [batch, head, row, element]. Logs is [batch, query head, query row].
// cuDNN, and the asynchronous copies of the tiled kernels, need rows that start at multiples of 16 bytes. If the
// declared alignment is smaller, the runtime uses tiled kernels that copy single elements.
func (t *Table) attention(s *calls.Attend, d *calls.Attention) []Operand {
	backward := s.GradO.Base != ""
	queries, keys := []expr.Expr{d.Batch, d.QueryHeads, d.QueryRows, d.Size}, []expr.Expr{d.Batch, d.KeyHeads, d.KeyRows, d.Size}
	logs := Operand{Number: Logs, At: s.Logs, Write: !backward, Type: domain.FP32, Extents: queries[:3], Declared: &d.AlignLogs}
	logs.Align = t.needs(&logs)
	logs.Strides = []expr.Expr{expr.Op("*", d.QueryHeads, d.QueryRows), d.QueryRows, expr.Int(1)}
	var list []Operand
	add := func(number int16, at calls.Pointer, write bool, extents, strides []expr.Expr, declared *int64) {
		if at.Base == "" {
			return
		}
		o := Operand{Number: number, At: at, Write: write, Type: d.Type, Extents: extents, Declared: declared}
		o.Strides = slices.Concat(strides, []expr.Expr{expr.Int(1)})
		o.Align = t.needs(&o)
		list = append(list, o)
	}
	add(Q, s.Q, false, queries, d.Q, &d.AlignQ)
	add(K, s.K, false, keys, d.K, &d.AlignK)
	add(V, s.V, false, keys, d.V, &d.AlignV)
	add(O, s.O, !backward, queries, d.O, &d.AlignO)
	if s.Logs.Base != "" {
		list = append(list, logs)
	}
	add(GradO, s.GradO, false, queries, d.GradO, &d.AlignGradO)
	add(GradQ, s.GradQ, true, queries, d.GradQ, &d.AlignGradQ)
	add(GradK, s.GradK, true, keys, d.GradK, &d.AlignGradK)
	add(GradV, s.GradV, true, keys, d.GradV, &d.AlignGradV)
	if s.Scratch.Base != "" {
		list = append(list, Operand{Number: Scratch, At: s.Scratch, Write: true, Type: calls.ScratchType, Rest: true, Align: align.Buffer})
	}
	return list
}

// Arguments lists the operand numbers of an attention's inputs and of its results, in the order of
// domain.Attention.Run.
func Arguments(s *calls.Attend) (in, out []int16) {
	if s.GradO.Base != "" {
		return []int16{GradO, Q, K, V, O, Logs}, []int16{GradQ, GradK, GradV}
	}
	return []int16{Q, K, V}, []int16{O, Logs}
}
