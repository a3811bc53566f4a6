package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// AccumulateInGEMM lets GEMMs add a tensor to their results with beta = 1 if the schedule has fuse: gemm. cuBLASLt
// then reads the addend as its matrix C, and the separate addition, which reads two tensors and writes one,
// disappears. The pass fuses a GEMM with a following addition that only some steps execute, such as the addition of a
// sum along a ring, whose first step has no addend.
//
// Requires: nothing between the GEMM and the addition names the result.
// Establishes: with fuse: gemm, no GEMM that can take the addend is followed by such an addition. It is an error if the
// user sets fuse: gemm for partial sums that no GEMM makes.
//
//	before: P_s = Matmul(A_s, B); If s != 0: Wait(receive, iteration s - 1); P_s = Binary(add, P_s, P_sums_s)
//
//	after:  If s != 0: Wait(receive, iteration s - 1); P_s = Matmul(A_s, B, add P_sums_s) Else: P_s = Matmul(A_s, B)
func AccumulateInGEMM(p *hostir.Program) error {
	if !p.Choices.Any(schedule.Fuse, schedule.GEMM) {
		return nil
	}
	accumulated := map[string]bool{}    // by path of the choice
	left := map[string][2]hostir.Stmt{} // by path: a maker of partial sums that is no GEMM, and the If that adds
	p.Body = hostir.RewriteBlocks(p.Body, func(body []hostir.Stmt) []hostir.Stmt {
		out := make([]hostir.Stmt, 0, len(body))
		for _, s := range body {
			n := len(out)
			split, ok := s.(*hostir.If)
			if !ok {
				out = append(out, s)
				continue
			}
			choice, _ := p.Choices.Chosen(hostir.ResultAt(p, split), schedule.Fuse)
			if choice.Value == schedule.GEMM && n > 0 && accumulateInto(split, out[n-1]) {
				accumulated[choice.Path()], out = true, out[:n-1]
			} else if maker := addsToOther(split, out); choice.Value == schedule.GEMM && maker != nil {
				left[choice.Path()] = [2]hostir.Stmt{maker, s}
			}
			out = append(out, s)
		}
		return out
	})
	var errors diag.List
	for _, choice := range p.Choices.Choices {
		if ends, found := left[choice.Path()]; found && !accumulated[choice.Path()] && p.Given(choice) && p.Choices.InterNode == "" {
			d := hostir.Refuse(&errors, p, ends[1], choice.Of, schedule.Fuse, "no GEMM makes the partial sums of %s",
				hostir.ResultAt(p, ends[1])).WithHint("choose fuse: none")
			if !hostir.MakesView(ends[0]) {
				_ = hostir.NoteEdge(d, p, "data", ends[0])
			}
		}
	}
	return errors.Err()
}

// addsToOther looks at a branch that ends with an addition. It returns the statement before the branch that makes the
// sum's tensor, or the tensor's Of if there is no such statement. It returns nil if the statement is a Matmul or
// Linear, or the branch does not end with an addition.
func addsToOther(split *hostir.If, before []hostir.Stmt) hostir.Stmt {
	if len(split.Body) == 0 {
		return nil
	}
	sum, ok := split.Body[len(split.Body)-1].(*hostir.Binary)
	if !ok || sum.Fn != "add" {
		return nil
	}
	for _, s := range slices.Backward(before) {
		if hostir.Result(s) != sum.Out {
			continue
		}
		switch s.(type) {
		case *hostir.Matmul, *hostir.Linear:
			return nil
		}
		return s
	}
	return sum.Out.Of
}

// accumulateInto moves a GEMM into a branch that consists of Waits and an addition to the result of the GEMM. It
// reports whether that was possible.
func accumulateInto(split *hostir.If, gemm hostir.Stmt) bool {
	n := len(split.Body)
	if n == 0 || len(split.Else) > 0 {
		return false
	}
	sum, ok := split.Body[n-1].(*hostir.Binary)
	if !ok || sum.Fn != "add" || hostir.Result(gemm) != sum.Out {
		return false
	}
	addend := sum.B
	if sum.B == sum.Out {
		addend = sum.A
	}
	if sum.A != sum.Out && sum.B != sum.Out || addend == sum.Out || !hostir.SameLayout(addend, sum.Out) || !onlyWaits(split.Body[:n-1]) {
		return false
	}
	accumulating := adding(gemm, addend)
	if accumulating == nil {
		return false
	}
	split.Body[n-1], split.Else = accumulating, []hostir.Stmt{gemm}
	return true
}

// adding returns a GEMM that adds to its result. It returns nil for other statements, for GEMMs that already
// add to their result, and for GEMMs with an epilogue.
func adding(gemm hostir.Stmt, addend *hostir.Tensor) hostir.Stmt {
	if hostir.Epilogue(gemm) != "" {
		return nil
	}
	switch s := gemm.(type) {
	case *hostir.Matmul:
		if s.Addend == nil {
			return &hostir.Matmul{Info: hostir.InfoFrom(s, ""), Out: s.Out, A: s.A, B: s.B, Addend: addend, OneRow: s.OneRow}
		}
	case *hostir.Linear:
		if s.Addend == nil {
			return &hostir.Linear{Info: hostir.InfoFrom(s, ""), Out: s.Out, X: s.X, W: s.W, Bias: s.Bias, Addend: addend, OneRow: s.OneRow}
		}
	}
	return nil
}

// onlyWaits reports whether statements do nothing but wait.
func onlyWaits(body []hostir.Stmt) bool {
	return !slices.ContainsFunc(body, func(s hostir.Stmt) bool { return !hostir.Is[*hostir.Wait](s) })
}
