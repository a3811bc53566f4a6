package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Alone returns how long a statement takes on an idle machine, in microseconds. It is 0 for statements that neither write a
// tensor nor send one.
func Alone(m *cost.Machine, s hostir.Stmt) float64 {
	switch s := s.(type) {
	case *hostir.Communication:
		if s.Type == collective.SendRecv {
			return m.CopyAlone(bytesOf(s.Out))
		}
		return m.CollectiveAlone(s.Type.Row().Form, bytesOf(s.In), bytesOf(s.Out), int(s.TeamSize()))
	case *hostir.P2PCommunication:
		if s.Owns() {
			return m.Device.Flag
		}
		return m.CopyAlone(bytesOf(s.Buffer))
	case *hostir.Matmul, *hostir.Linear, *hostir.BlockLinear:
		return m.GEMMAlone(gemmSizeOf(s))
	case *hostir.Gather:
		return m.KernelAlone(2*bytesOf(s.Out) + bytesOf(s.IDs))
	}
	if hostir.Result(s) == nil {
		return 0
	}
	bytes := int64(0)
	for _, t := range hostir.Mentions(s) {
		bytes += bytesOf(t)
	}
	if s, ok := s.(*hostir.Attention); ok {
		shape := s.Shape(false, func(*domain.Mesh, string) int64 { return 0 })
		return m.AttentionAlone(cost.AttentionSize{
			AttentionShape: shape, Kind: s.Kind(), DType: s.Queries().DType, Grad: s.IsGrad(), Bytes: bytes,
		})
	}
	return m.KernelAlone(bytes)
}

// bytesOf returns the size of a tensor on one rank, in bytes.
func bytesOf(t *hostir.Tensor) int64 {
	bytes := t.DType.Size()
	for _, size := range hostir.LocalShape(t) {
		bytes *= size
	}
	return bytes
}

// gemmSizeOf returns the size of the GEMMs of a statement. If the second operand has batches, each batch is a GEMM. Otherwise
// all rows of the first operand are in one GEMM. An epilogue costs as much as reading the result.
func gemmSizeOf(s hostir.Stmt) cost.GEMMSize {
	out, operands := hostir.Result(s), hostir.Uses(s)
	rows, second := hostir.LocalShape(operands[0]), hostir.LocalShape(operands[1])
	p := cost.GEMMSize{M: 1, K: rows[len(rows)-1], Batch: 1, DType: operands[0].DType, Result: out.DType}
	for _, size := range second[:len(second)-2] {
		p.Batch *= size
	}
	result := hostir.LocalShape(out)
	p.N = result[len(result)-1]
	p.RowA, p.RowB = rowOf(operands[0]), rowOf(operands[1])
	for _, size := range result[:len(result)-1] {
		p.M *= size
	}
	p.Batch = min(p.Batch, p.M)
	p.M /= p.Batch
	for _, t := range operands[2:] {
		p.Extra += bytesOf(t)
	}
	if hostir.Epilogue(s) != "" {
		p.Extra += bytesOf(out)
	}
	return p
}

// rowOf returns the length of a row of a tensor in memory: the local extent of the innermost axis with more than one element,
// or 1.
func rowOf(t *hostir.Tensor) int64 {
	live := hostir.Live(t)
	for _, axis := range slices.Backward(hostir.Layout(t)) {
		if slices.Contains(live, axis) && t.Axes[axis].LocalSize() > 1 {
			return t.Axes[axis].LocalSize()
		}
	}
	return 1
}
