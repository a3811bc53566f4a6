package soak

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// roundings adds casts, also to 8-bit types and to integers, between elementwise functions and reductions along rows.
func (g *generator) roundings() {
	v, types := g.input(nil), domain.AllDTypes
	for range 1 + g.IntN(3) {
		if last := len(v.axes) - 1; len(v.axes) > 1 && g.chance(0.2) {
			fn := pick(g, "max", "min", "sum")
			v = g.result(g.along(fn, last, v), lists.Without(v.axes, last), v)
		}
		if g.chance(0.4) {
			by := pick(g, "-3", "0.3", "-3", "1e9")
			if v = g.result(on("scale", v).with(word("by", by)), v.axes, v); by == "1e9" { // fp8 would saturate
				types = lists.Except(types, domain.DType.Saturates)
			}
		} else {
			v = g.result(on(pick(g, "exp", "neg", "silu", "rsqrt"), v), v.axes, v)
		}
		to := pick(g, types...)
		if v = g.result(castTo(v, to), v.axes, v.as(to)); !to.Computes() {
			to = pick(g, domain.DTypes...)
			v = g.result(castTo(v, to), v.axes, v.as(to))
		}
	}
	g.forget()
	g.focused(v, 1+g.IntN(2), (*generator).unary, (*generator).constant, (*generator).binary, (*generator).reduce, (*generator).set)
}

// roundsInKernels reports whether a fused kernel has a cast among its steps, and so rounds a value.
func roundsInKernels(_ *model.Pipeline, p *hostir.Program) bool {
	return anyStmt(p, func(s hostir.Stmt) bool {
		k, ok := s.(*hostir.Fused)
		return ok && slices.ContainsFunc(k.Body, domain.Step.Casts)
	})
}
