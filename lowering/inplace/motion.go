package inplace

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/pipeline"
)

// way is the new place of a statement of a loop.
type way int

const (
	stays    way = iota // in the loop
	ahead               // before the loop
	atTheEnd            // at the end of the program: a Wait until the peer has copied
	inSum               // in a sum, which does the transfer itself
	dropped             // removed
)

// motion moves statements out of loops, together with the branches around them.
type motion struct {
	*pipeline.Projector
	program   *hostir.Program
	names     *hostir.Namer
	exchanges map[string]*hostir.Exchange
	ways      map[hostir.Stmt]way // statements that are not in the map stay
}

func newMotion(p *hostir.Program) *motion {
	return &motion{
		Projector: pipeline.NewProjector(p), program: p, names: hostir.NewNamer(p), exchanges: hostir.Exchanges(p), ways: map[hostir.Stmt]way{},
	}
}

// part returns a loop with only the statements of one way, as Project does, or nil if there are none.
func (m *motion) part(loop *hostir.For, which way) *hostir.For {
	return m.Project(loop, func(s hostir.Stmt, _ []hostir.Stmt) bool { return m.ways[s] == which })
}

// leave removes all statements from a loop except the statements with way stays.
func (m *motion) leave(loop *hostir.For) {
	if rest := m.part(loop, stays); rest != nil {
		*loop = *rest
	} else {
		loop.Body = nil
	}
}

// madeBy returns the statement that makes a view. If the view is the local shard in one step, madeBy returns the
// statement of the other steps. If the view is the local shard in all steps, madeBy returns nil, so that the view
// counts as a buffer: peers write only the other slices.
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

// root returns the underlying buffer of a tensor, following madeBy.
func root(t *hostir.Tensor) *hostir.Tensor {
	for madeBy(t) != nil {
		t = hostir.Uses(madeBy(t))[0]
	}
	return t
}

// outermost returns the Select nearest to the buffer, among the Selects that a view directly consists of, or nil.
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
