package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// AddInGEMM lets a GEMM add another tensor to its result, if the result has no other reader (kernels: fused).
// An example is a sum of several GEMMs:
//
//	P = Linear(dK, Wk)           S = Linear(dK, Wk, add Q)
//	S = Binary(add, Q, P)
//
// The sum is rounded once. The pass skips tensors that come from other ranks, because the GEMM would have to
// wait for them.
//
// Requires: every statement is local or one movement; layouts are final.
func AddInGEMM(p *hostir.Program) error {
	if p.Choices.Get(schedule.Kernels) != schedule.Fused {
		return nil
	}
	a := &adder{maker: map[*hostir.Tensor]hostir.Stmt{}, readers: map[*hostir.Tensor]int{}, place: map[hostir.Stmt]int{}}
	for i, s := range p.Body {
		a.place[s] = i
		for _, t := range hostir.Uses(s) {
			a.readers[t]++
		}
		for _, t := range hostir.Defs(s) {
			a.maker[t] = s
		}
	}
	gone := map[*hostir.Tensor]bool{}
	p.Body = slices.DeleteFunc(p.Body, func(s hostir.Stmt) bool {
		sum, ok := s.(*hostir.Binary)
		if !ok || sum.Fn != "add" {
			return false
		}
		for _, of := range [][2]*hostir.Tensor{{sum.B, sum.A}, {sum.A, sum.B}} {
			if product, other := of[0], of[1]; a.adds(sum, product, other) {
				gone[product], a.maker[sum.Out] = true, a.maker[product]
				setAddend(a.maker[product], other)
				hostir.SubstituteDefs(a.maker[product], func(*hostir.Tensor) *hostir.Tensor { return sum.Out })
				return true
			}
		}
		return false
	})
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t *hostir.Tensor) bool { return gone[t] })
	return nil
}

type adder struct {
	maker   map[*hostir.Tensor]hostir.Stmt
	readers map[*hostir.Tensor]int
	place   map[hostir.Stmt]int // in the program
}

// adds reports whether the GEMM that makes a product can add the other operand of a sum. The operand must be
// available before the GEMM.
func (a *adder) adds(sum *hostir.Binary, product, other *hostir.Tensor) bool {
	gemm := a.maker[product]
	if gemm == nil || !hostir.IsGEMM(gemm) || hasAddend(gemm) || hostir.Epilogue(gemm) != "" || a.readers[product] != 1 ||
		product.Role != hostir.Temp {
		return false
	}
	alike := func(t *hostir.Tensor) bool {
		return t.Mesh == sum.Out.Mesh && hostir.SameAxes(t, sum.Out) && hostir.SameLayout(t, sum.Out)
	}
	return alike(product) && alike(other) && a.isThere(other, gemm)
}

// isThere reports whether a tensor is computed before a GEMM, on the same rank. For a reshaped tensor, it
// checks the tensor that is reshaped.
func (a *adder) isThere(t *hostir.Tensor, gemm hostir.Stmt) bool {
	made := a.maker[t]
	if made == nil {
		return t.Role == hostir.Input
	}
	if a.place[made] > a.place[gemm] || hostir.MayMove(made) {
		return false
	}
	reshape, reshapes := made.(*hostir.Reshape)
	return t.Role != hostir.View || reshapes && a.isThere(reshape.In, gemm)
}

func hasAddend(gemm hostir.Stmt) bool {
	switch s := gemm.(type) {
	case *hostir.Matmul:
		return s.Addend != nil
	case *hostir.Linear:
		return s.Addend != nil || s.Bias != nil
	default:
		return true
	}
}

func setAddend(gemm hostir.Stmt, t *hostir.Tensor) {
	switch s := gemm.(type) {
	case *hostir.Matmul:
		s.Addend = t
	case *hostir.Linear:
		s.Addend = t
	}
}
