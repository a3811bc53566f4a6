package inplace

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/pipeline"
)

// way says where a statement of a loop goes.
type way int

const (
	stays    way = iota
	ahead        // before the loop
	atTheEnd     // after everything: a Wait for the peer to have copied
	inSum        // into a sum: a transfer that it does itself
	dropped      // nowhere: what such a sum does without
)

// motion takes statements out of loops, each with the branches that it needs.
type motion struct {
	*pipeline.Projector
	program   *hostir.Program
	names     *hostir.Namer
	exchanges map[string]*hostir.Exchange
	ways      map[hostir.Stmt]way
}

func newMotion(p *hostir.Program) *motion {
	return &motion{
		Projector: pipeline.NewProjector(p), program: p, names: hostir.NewNamer(p), exchanges: hostir.Exchanges(p), ways: map[hostir.Stmt]way{},
	}
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

// madeBy is what makes a view, of one that is the local shard in one step what makes it in the other steps. A view of
// the local shard in all steps counts as a buffer, since peers write the others alone: nil.
func madeBy(t *hostir.Tensor) hostir.Stmt {
	switch of := t.Of.(type) {
	case *hostir.Either:
		return of.Else.Of
	case *hostir.Select:
		if of.Owns() {
			return nil
		}
	}
	return t.Of
}

// root is the buffer behind a tensor, as madeBy sees it.
func root(t *hostir.Tensor) *hostir.Tensor {
	for madeBy(t) != nil {
		t = hostir.Uses(madeBy(t))[0]
	}
	return t
}

// outermost is the Select that takes a view, or what it is a view of, from a buffer; nil where none does.
func outermost(t *hostir.Tensor) *hostir.Select {
	sel, _ := madeBy(t).(*hostir.Select)
	for sel != nil {
		outer, ok := madeBy(sel.In).(*hostir.Select)
		if !ok {
			break
		}
		sel = outer
	}
	return sel
}
