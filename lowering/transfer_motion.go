package lowering

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/pipeline"
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
	*pipeline.Projector
	program   *hostir.Program
	exchanges map[string]*hostir.Exchange
	base      map[*hostir.Tensor]*hostir.Tensor // view -> the buffer behind it; of one that is the own slice in one step, that of the other steps. A view of the own slice in all steps has none: peers write the others alone
	ways      map[hostir.Stmt]way
	selects   map[*hostir.Tensor]*hostir.Select // view -> what makes it in the loops at hand
}

func newMotion(p *hostir.Program) *motion {
	m := &motion{
		Projector: pipeline.NewProjector(p), program: p, exchanges: hostir.Exchanges(p),
		base: map[*hostir.Tensor]*hostir.Tensor{}, ways: map[hostir.Stmt]way{}, selects: map[*hostir.Tensor]*hostir.Select{},
	}
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		if sel, ok := s.(*hostir.Select); m.MakesView(s) && (!ok || !sel.Owns()) {
			m.base[hostir.Result(s)] = root(m.base, hostir.Uses(s)[0])
		}
		return true
	})
	return m
}

// part is a loop over the same iterations, with the statements that go one way; nil if there are none.
func (m *motion) part(loop *hostir.For, which way) *hostir.For {
	return m.Project(loop, func(s hostir.Stmt, _ []hostir.Stmt) bool { return m.ways[s] == which })
}

// leave takes out of a loop what does not stay in it.
func (m *motion) leave(loop *hostir.For) {
	if rest := m.part(loop, stays); rest != nil {
		*loop = *rest
	} else {
		loop.Body = nil
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
