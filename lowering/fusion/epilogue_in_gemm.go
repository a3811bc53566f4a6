package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// EpilogueInGEMM lets a GEMM apply a function to its result, if the result has no other reader (kernels:
// fused):
//
//	Z = Linear(U, W1, b1)        A = Linear(U, W1, b1, then relu)
//	A = Unary(relu, Z)
//
// Z then needs no memory, and there is one rounding less. A function stays separate if its result is not an output and
// only operations that can be part of a kernel read the result. The function is then part of their kernel, which reads
// as many bytes either way.
//
// Requires: every statement is local or one transfer; layouts are final; AddInGEMM has run.
func EpilogueInGEMM(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	l := linksOf(p.Body)
	gone := map[*hostir.Tensor]bool{}
	p.Body = slices.DeleteFunc(p.Body, func(s hostir.Stmt) bool {
		fn, ok := s.(*hostir.Unary)
		if !ok || len(l.readers[fn.In]) != 1 || onlyRowWise(fn.Out, l.readers[fn.Out]) || !mayApply(l.maker[fn.In], fn) {
			return false
		}
		gemm := l.maker[fn.In]
		hostir.SetEpilogue(gemm, fn.Fn)
		hostir.ReplaceDef(gemm, fn.In, fn.Out)
		gone[fn.In] = true
		return true
	})
	p.Remove(gone)
	return nil
}

// mayApply reports whether a statement is a GEMM that can apply a function to its result. cuBLASLt needs an epilogue
// for the function, and the GEMM may have no epilogue yet. The result of the GEMM has to be a Temp with the mesh, axes
// and layout of the function's result.
func mayApply(gemm hostir.Stmt, fn *hostir.Unary) bool {
	if gemm == nil || !hostir.IsGEMM(gemm) || hostir.Epilogue(gemm) != "" || domain.FunctionOf(fn.Fn).Epilogue == "" {
		return false
	}
	if hostir.Is[*hostir.BlockLinear](gemm) {
		return false // cuBLASLt documents no epilogue for GEMMs with scales of blocks
	}
	in, out := fn.In, fn.Out
	return in.Role == hostir.Temp && in.Mesh == out.Mesh && hostir.SameAxes(in, out) && hostir.SameLayout(in, out)
}

// onlyRowWise reports whether a tensor is not an output, and only statements that can be part of a kernel read it.
func onlyRowWise(t *hostir.Tensor, readers []hostir.Stmt) bool {
	other := func(s hostir.Stmt) bool { return !rowWise(s) }
	return t.Role != hostir.Output && !slices.ContainsFunc(readers, other)
}
