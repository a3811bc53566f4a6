package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// branch lowers an If, and both of its sides.
func (b *builder) branch(s *hostir.If) []calls.Stmt {
	cond := b.scope.Rename(expr.Fold(s.Cond))
	gemms := len(b.sizes)
	body := b.under(condition{holds: cond}, s.Body)
	both := len(b.sizes)
	otherwise := b.under(condition{holds: cond, not: true}, s.Else)
	if list := b.sizes; sameGemms(list[gemms:both], list[both:]) {
		b.sizes = list[:both] // count one side, because an iteration takes only one
	}
	return []calls.Stmt{&calls.If{Cond: b.spelled(cond), Body: body, Else: otherwise}}
}

// under lowers one side of an If under its condition.
func (b *builder) under(c condition, side []hostir.Stmt) []calls.Stmt {
	b.conditions = append(b.conditions, c)
	defer func() { b.conditions = b.conditions[:len(b.conditions)-1] }()
	return b.list(side)
}

// sameGemms reports whether both sides of an If have the same GEMM sizes.
func sameGemms(one, other []size) bool {
	return slices.EqualFunc(one, other, func(p, q size) bool { return p.numbers == q.numbers })
}
