package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// WidenOperands converts operands of 8 bits to bf16, or fp16 if the result is fp16, before a GEMM that cuBLASLt cannot compute from
// 8 bits:
//
//	C = Matmul(A, B)  ->  A_bf16 = Cast(A); B_bf16 = Cast(B); C = Matmul(A_bf16, B_bf16)
//
// cuBLASLt has GEMMs of 8-bit numbers under three conditions. Both operands are stored along the summed axis, 16 divides its
// extent, and at least one operand is fp8_e4m3 (https://docs.nvidia.com/cuda/cublas/#cublasltmatmul; Hopper with CUDA 13.0 has no
// others). The conversion is exact, so the result does not change. A GEMM with scales of blocks has no form for
// wider operands, and MakeReshardingsContiguous gives it operands that are stored along the summed axis.
//
// Requires: layouts are final, and every statement is local or one movement.
func WidenOperands(p *hostir.Program) error {
	var body []hostir.Stmt
	var names *hostir.Namer
	wide := map[*hostir.Tensor]*hostir.Tensor{}
	for _, s := range p.Body {
		why := ""
		if !hostir.Is[*hostir.BlockLinear](s) && hostir.IsGEMM(s) && hostir.Uses(s)[0].DType.Saturates() {
			why = narrowObstacle(s)
		}
		for _, t := range hostir.Uses(s) {
			if why == "" || !t.DType.Saturates() {
				continue
			}
			if names == nil {
				names = hostir.NewNamer(p)
			}
			to := domain.BF16
			if hostir.Result(s).DType == domain.FP16 {
				to = domain.FP16
			}
			if wide[t] == nil || wide[t].DType != to {
				wide[t] = names.Declare(t, "_"+string(to))
				wide[t].DType = to
				body = append(body, &hostir.Cast{Info: hostir.InfoFrom(s, why), Out: wide[t], In: t})
			}
			hostir.SubstituteUses(s, hostir.ByMap(map[*hostir.Tensor]*hostir.Tensor{t: wide[t]}))
		}
		body = append(body, s)
	}
	p.Body = body
	return nil
}

// narrowObstacle says why cuBLASLt cannot multiply operands of 8 bits; "" if it can.
func narrowObstacle(s hostir.Stmt) string {
	a, b := hostir.Uses(s)[0], hostir.Uses(s)[1]
	first, second := hostir.SummedAxes(s)
	switch k := a.Axes[first]; {
	case a.DType == domain.FP8E5M2 && b.DType == domain.FP8E5M2:
		return "cuBLASLt has no GEMM of two fp8_e5m2 operands"
	case hasInside(a, first) || hasInside(b, second):
		return "cuBLASLt multiplies numbers of 8 bits only if both operands are stored along the summed axis"
	case k.Kind == domain.Stream || k.LocalSize()%hostir.ShortRow != 0:
		return "cuBLASLt multiplies numbers of 8 bits only if 16 divides the summed extent"
	}
	return ""
}
