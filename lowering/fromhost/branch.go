package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// branch lowers an If.
func (b *builder) branch(s *hostir.If) ([]calls.Stmt, error) {
	cond := b.scope.Rename(expr.Fold(s.Cond))
	gemms := len(b.sizes)
	body, err := b.under(condition{holds: cond}, s.Body)
	if err != nil {
		return nil, err
	}
	both := len(b.sizes)
	otherwise, err := b.under(condition{holds: cond, not: true}, s.Else)
	if err != nil {
		return nil, err
	}
	if list := b.sizes; sameGemms(list[gemms:both], list[both:]) {
		b.sizes = list[:both] // an iteration takes one side
	}
	return []calls.Stmt{&calls.If{Cond: b.spelled(cond), Body: body, Else: otherwise}}, nil
}

// under lowers one side of an If.
func (b *builder) under(c condition, side []hostir.Stmt) ([]calls.Stmt, error) {
	b.conditions = append(b.conditions, c)
	defer func() { b.conditions = b.conditions[:len(b.conditions)-1] }()
	return b.list(side)
}

// sameGemms reports whether both sides of an If have the same GEMM sizes.
func sameGemms(one, other []size) bool {
	return slices.EqualFunc(one, other, func(p, q size) bool { return p.numbers == q.numbers })
}
