package soak

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// blocksOfRows begins with a function or a norm of rows, and a quantization of blocks of these rows. Other operations
// read the rows too.
func (g *generator) blocksOfRows() {
	v := g.inputOf([]int64{pick[int64](g, 1, 2, 3, 4), pick[int64](g, 32, 64)}, g.spec.DType, g.mesh())
	rows := g.result(on(pick(g, "rms_norm", "normalize", "softmax", "silu"), v), v.axes, v)
	if g.chance(0.4) {
		rows = g.result(on("add", rows, v), v.axes, v)
	}
	g.quantize(rows, true)
	g.focused(rows, 1+g.IntN(2), (*generator).unary, (*generator).binary, (*generator).reduce, (*generator).quantized)
}

// quantize quantizes rows or blocks of rows, and dequantizes them. With blocks set it takes blocks of rows, unless the
// rows are not serial, or have an odd number of elements or two.
func (g *generator) quantize(v *value, blocks bool) {
	n, to, kind := len(v.axes), pick(g, domain.FP8E4M3, domain.FP8E5M2), g.Float64()
	op, scales := on("quantize", v).with(word("dtype", string(to))), slices.Clone(v.axes[:n-1])
	if last := v.axes[n-1]; (blocks || kind > 0.5) && last.Kind == domain.Serial && last.Size > 2 && last.Size%2 == 0 {
		block := last.Size / 2
		if kind > 0.75 {
			block /= max(1, last.Size/32) // 16 for rows of 32 and 64 elements, which kernels fold
		}
		op, scales = op.with(number("block", block)), append(scales, serialAxis(last.Size/block))
	}
	if kind < 0.3 {
		op = op.with(word("powers_of_two", "true"))
	}
	q := g.result(op, v.axes, v.as(to))
	s := g.further(scales, v.as(domain.FP32))
	g.add(on("dequantize", q, s), v.axes, v.as(g.spec.DType))
}

// foldsBlocks reports whether a kernel folds blocks of its rows.
func foldsBlocks(_ *model.Pipeline, p *hostir.Program) bool {
	return anyStmt(p, func(s hostir.Stmt) bool { k, ok := s.(*hostir.Fused); return ok && k.Body.Block() > 1 })
}
