package lowering

import (
	"maps"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// scope is what a loop does to buffers.
type scope struct {
	variables []string                // its own, then those of loops in it
	computed  map[*hostir.Tensor]bool // buffers that the work writes
	received  map[*hostir.Tensor]bool // buffers that transfers write
	passed    map[*hostir.Tensor]bool // buffers that transfers read
}

// writes notes what the statements of a list write. What a single step writes, alone of its
// kind, is the own slice, which is another one than those exchanged.
func (m *motion) writes(to *scope, body []hostir.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *hostir.Select:
		case *hostir.If:
			if to.isOwnStep(s.Cond) {
				own := maps.Clone(to.computed)
				m.writes(to, s.Body)
				to.computed = own
			} else {
				m.writes(to, s.Body)
			}
			m.writes(to, s.Else)
		case *hostir.For:
			to.variables = append(to.variables, s.Var)
			m.writes(to, s.Body)
		default:
			for _, t := range hostir.Uses(s) {
				if isTransfer(s) {
					to.passed[root(m.base, t)] = true
				}
			}
			for _, t := range hostir.Defs(s) {
				if isTransfer(s) {
					to.received[root(m.base, t)] = true
				} else {
					to.computed[root(m.base, t)] = true
				}
			}
		}
	}
}

// isOwnStep reports whether a condition singles out one iteration.
func (in *scope) isOwnStep(cond expr.Expr) bool {
	c, ok := cond.(*expr.Binary)
	return ok && c.Op == "==" && slices.ContainsFunc(in.variables, func(v string) bool { return mentions(c, v) })
}

func mentions(e expr.Expr, variable string) bool {
	return slices.ContainsFunc(expr.Names(e.String()), func(n expr.Name) bool { return n.Text == variable })
}
