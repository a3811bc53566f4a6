package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// way says where a statement of a loop goes.
type way int

const (
	stays    way = iota
	lend         // before the loop
	atTheEnd     // after everything: a Wait for the peer to have copied
	borrowed     // into a sum: a transfer that it does itself
	dropped      // nowhere: what such a sum does without
)

// motion takes statements out of loops, each with the branches and views that it needs.
type motion struct {
	program   *hostir.Program
	names     *hostir.Namer
	exchanges map[string]*hostir.Exchange
	params    map[string]int64
	makes     map[hostir.Stmt]bool              // whether a statement makes a view
	base      map[*hostir.Tensor]*hostir.Tensor // view -> the buffer behind it; of one that is the own slice in one step, that of the other steps. A view of the own slice in all steps has none: peers write the others alone
	ways      map[hostir.Stmt]way
	selects   map[*hostir.Tensor]*hostir.Select // view -> what makes it in the loops at hand
}

func newMotion(p *hostir.Program) *motion {
	m := &motion{
		program: p, makes: hostir.ViewMakers(p.Body), names: hostir.NewNamer(p), exchanges: hostir.Exchanges(p), params: map[string]int64{},
		base: map[*hostir.Tensor]*hostir.Tensor{},
		ways: map[hostir.Stmt]way{}, selects: map[*hostir.Tensor]*hostir.Select{},
	}
	for _, param := range p.Params {
		m.params[param.Name] = param.Value
	}
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		if sel, ok := s.(*hostir.Select); m.makes[s] && (!ok || !sel.Owns()) {
			m.base[hostir.Result(s)] = root(m.base, hostir.Uses(s)[0])
		}
		return true
	})
	return m
}

// isTransfer reports whether a statement moves data between ranks.
func isTransfer(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Communication, *hostir.P2PCommunication:
		return true
	default:
		return false
	}
}

// outermost is the Select that takes a view, or what it is a view of, from memory that is named
// outside of the loop.
func (m *motion) outermost(t *hostir.Tensor) *hostir.Select {
	sel := m.selects[t]
	for sel != nil && m.selects[sel.In] != nil {
		sel = m.selects[sel.In]
	}
	return sel
}

func mentions(e expr.Expr, variable string) bool {
	return slices.ContainsFunc(expr.Names(e.String()), func(n expr.Name) bool { return n.Text == variable })
}
