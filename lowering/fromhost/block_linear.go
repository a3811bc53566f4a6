package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// blockLinear lowers out[..., n] = x[..., k] w[..., n, k]^T with scales of blocks. Each batch is a separate call,
// because cuBLASLt does not document batches of such GEMMs. In each call, the operands and the scales are dense
// matrices.
func (b *builder) blockLinear(s *hostir.BlockLinear) []calls.Stmt {
	buffers := b.operandBuffers(s, s.Out, s.X, s.W, s.S, s.T)
	p, misfit := blockGemmOf(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4])
	if misfit != nil {
		refuse(b.notContiguous(s, misfit.tensor, "a GEMM with scales of blocks"))
	}
	p.transposeB = true
	b.gemmFits(s, p)
	call := b.gemm(s, p, buffers[0], buffers[1], buffers[2])
	b.out.Shapes[len(b.out.Shapes)-1].Scales = true
	scalesA, scalesB := b.pointer(buffers[3]), b.pointer(buffers[4])
	call.ScalesA, call.ScalesB = &scalesA, &scalesB
	return b.calls(p, call)
}

// blockGemmOf describes a GEMM with scales of blocks. As many of the innermost leading axes as possible are the rows of
// one call: the operands and their scales have to be dense along them. The other leading axes are loops of calls.
// misfit is a buffer that does not fit; nil if all fit.
func blockGemmOf(out, x, w, scalesX, scalesW *buffer) (p gemm, misfit *buffer) {
	axes := leadingAxes(out, x, w, nil, scalesX, scalesW)
	for outer := 0; outer <= len(axes); outer++ {
		if p, misfit = batchesOf(axes[outer:], len(axes)-outer, out, x, w); misfit != nil {
			continue
		}
		p.calls = axes[:outer]
		scales := []dim{last(scalesX.dims)}
		for i, axis := range slices.Backward(axes[outer:]) {
			scales = append([]dim{{i, axis.extent, axis.scalesA}}, scales...)
		}
		switch {
		case p.transposeA:
			misfit = x
		case p.transposeB:
			misfit = w
		case !rowMajor(scales):
			misfit = scalesX
		case !rowMajor(scalesW.dims[len(scalesW.dims)-2:]):
			misfit = scalesW
		default:
			return p, nil
		}
	}
	return p, misfit
}
