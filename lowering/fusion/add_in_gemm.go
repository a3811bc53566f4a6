package fusion

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// AddInGEMM lets a GEMM add another tensor to its result, if the result has no other reader (kernels: fused).
// An example is a sum of several GEMMs:
//
//	P = Linear(dK, Wk)           S = Linear(dK, Wk, add Q)
//	S = Binary(add, Q, P)
//
// The sum is rounded once. If GEMMs compute both operands, the pass prefers the GEMM that depends on more transfers
// between ranks, or else the later GEMM, so that the other GEMM can run during the transfers. A GEMM that precedes the
// computation of its addend moves to the position of the sum. The pass skips GEMMs with a bias, an addend or an
// epilogue. It also skips addends that come from other ranks, because the GEMM would have to wait for them.
//
// Requires: every statement is local or one transfer; layouts are final.
func AddInGEMM(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	a := &adder{hostir.Makers(p.Body), hostir.Readers(p.Body), map[hostir.Stmt]place{}}
	for i, s := range p.Body {
		at := place{line: i}
		for _, t := range hostir.Uses(s) {
			at.moves = max(at.moves, a.of(t).moves)
		}
		if hostir.MayMove(s) {
			at.moves++
		}
		a.place[s] = at
	}
	gone := map[*hostir.Tensor]bool{}
	var body []hostir.Stmt
	for _, s := range p.Body {
		sum, product, other := a.operands(s)
		if product == nil {
			body = append(body, s)
			continue
		}
		gemm := a.maker[product]
		setAddend(gemm, other)
		hostir.ReplaceDef(gemm, product, sum.Out)
		gone[product], a.maker[sum.Out] = true, gemm
		if a.of(other).line > a.place[gemm].line {
			body = append(slices.DeleteFunc(body, func(s hostir.Stmt) bool { return s == gemm }), gemm)
			a.place[gemm] = a.place[s]
		}
	}
	p.Body = body
	p.Remove(gone)
	return nil
}

type adder struct {
	maker   map[*hostir.Tensor]hostir.Stmt
	readers map[*hostir.Tensor][]hostir.Stmt
	place   map[hostir.Stmt]place
}

// operands returns a sum, the operand whose GEMM can add the other operand, and that other operand. All are nil if s is
// not a sum, or if no GEMM can add.
func (a *adder) operands(s hostir.Stmt) (sum *hostir.Binary, product, other *hostir.Tensor) {
	sum, ok := s.(*hostir.Binary)
	if !ok || sum.Fn != "add" {
		return nil, nil, nil
	}
	product, other = sum.B, sum.A
	if a.of(product).before(a.of(other)) {
		product, other = other, product
	}
	switch {
	case a.adds(sum, product, other):
		return sum, product, other
	case a.adds(sum, other, product):
		return sum, other, product
	}
	return nil, nil, nil
}

// place is the position of a statement in the program.
type place struct {
	moves int // the largest number of transfers between ranks on a path of dependencies that ends with the statement
	line  int
}

// before orders places by their transfers, and places with the same number of transfers by line.
func (p place) before(other place) bool {
	return cmp.Or(cmp.Compare(p.moves, other.moves), cmp.Compare(p.line, other.line)) < 0
}

// of returns the place of the statement that computes a tensor. The line is -1 if no statement does.
func (a *adder) of(t *hostir.Tensor) place {
	if a.maker[t] == nil {
		return place{line: -1}
	}
	return a.place[a.maker[t]]
}

// adds reports whether the GEMM that computes product can add the other operand of a sum. If the GEMM precedes the
// computation of other, other may not depend on more transfers than the GEMM, so that the GEMM does not wait for
// additional transfers.
func (a *adder) adds(sum *hostir.Binary, product, other *hostir.Tensor) bool {
	gemm := a.maker[product]
	if gemm == nil || !hostir.IsGEMM(gemm) || hasAddend(gemm) || hostir.Epilogue(gemm) != "" || len(a.readers[product]) != 1 ||
		product.Role != hostir.Temp {
		return false
	}
	alike := func(t *hostir.Tensor) bool {
		return t.Mesh == sum.Out.Mesh && hostir.SameAxes(t, sum.Out) && hostir.SameLayout(t, sum.Out)
	}
	first := a.of(other).line > a.place[gemm].line
	return alike(product) && alike(other) && a.onThisRank(other) && (!first || a.of(other).moves <= a.place[gemm].moves)
}

// onThisRank reports whether a tensor is an input, or the result of a statement that moves nothing between ranks. For a
// view by a Reshape, it checks the operand of the Reshape. It is false for other views.
func (a *adder) onThisRank(t *hostir.Tensor) bool {
	made := a.maker[t]
	if made == nil {
		return t.Role == hostir.Input
	}
	reshape, reshapes := made.(*hostir.Reshape)
	return !hostir.MayMove(made) && (t.Role != hostir.View || reshapes && a.onThisRank(reshape.In))
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
