package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// users records the positions of the statements of a program, and the statements that use each buffer.
type users struct {
	program    *hostir.Program
	statements []hostir.Stmt // without loops and Allocates, in program order
	sites      map[hostir.Stmt]site
	of         map[*hostir.Tensor][]hostir.Stmt    // buffer -> the statements that name it or a view of it
	allocates  map[*hostir.Tensor]*hostir.Allocate // allocations outside of loops
}

// site is the position of a statement.
type site struct {
	at       int           // its position in users.statements, from 1
	loops    []*hostir.For // the enclosing loops, outermost first
	branches bool          // in a branch, or in a sum over peers
}

func usersOf(p *hostir.Program) *users {
	u := &users{
		program: p, sites: map[hostir.Stmt]site{}, of: map[*hostir.Tensor][]hostir.Stmt{}, allocates: map[*hostir.Tensor]*hostir.Allocate{},
	}
	for _, s := range p.Body {
		if a, ok := s.(*hostir.Allocate); ok {
			u.allocates[a.Tensor] = a
		}
	}
	u.list(p.Body, nil, false)
	return u
}

func (u *users) list(body []hostir.Stmt, loops []*hostir.For, branches bool) {
	for _, s := range body {
		if hostir.Is[*hostir.Allocate](s) {
			continue
		}
		if loop, ok := s.(*hostir.For); ok {
			u.list(loop.Body, append(slices.Clone(loops), loop), branches)
			continue
		}
		u.statements = append(u.statements, s)
		u.add(s, site{len(u.statements), loops, branches})
		for _, inner := range hostir.Bodies(s) {
			u.list(*inner, loops, true)
		}
	}
}

// add records the position of a statement, and that the statement uses the buffers of its tensors.
func (u *users) add(s hostir.Stmt, at site) {
	u.sites[s] = at
	var seen []*hostir.Tensor
	for _, t := range hostir.Mentions(s) {
		for _, b := range hostir.Buffers(t) {
			if !slices.Contains(seen, b) {
				seen = append(seen, b)
				u.of[b] = append(u.of[b], s)
			}
		}
	}
}

// writesTo reports whether a statement writes to a buffer.
func writesTo(s hostir.Stmt, buffer *hostir.Tensor) bool {
	return slices.ContainsFunc(hostir.Defs(s), func(t *hostir.Tensor) bool { return isIn(t, buffer) })
}

// isIn reports whether a tensor is a buffer, or may be a view of it.
func isIn(t, buffer *hostir.Tensor) bool { return slices.Contains(hostir.Buffers(t), buffer) }

// acceptsStrides reports whether a statement can use a buffer with gaps, with a stride for each axis. GEMMs and
// communications cannot. A Reshape cannot read such a buffer, and the Logs of an Attention cannot be in one.
func acceptsStrides(s hostir.Stmt, buffer *hostir.Tensor) bool {
	switch s := s.(type) {
	case *hostir.Fused, *hostir.Unary, *hostir.Binary, *hostir.Cast, *hostir.Set, *hostir.Reduce, *hostir.Concat, *hostir.Permute,
		*hostir.Slice, *hostir.Broadcast:
		return true
	case *hostir.Reshape:
		return !isIn(s.In, buffer)
	case *hostir.Attention:
		return s.Logs() == nil || !isIn(s.Logs(), buffer)
	default:
		return false
	}
}

// earlier reports whether s writes its part of buffer before reader reads t, a view of the buffer. s must precede
// reader in the program. If both are in the same outermost loop, s must write the slice that reader reads.
func (u *users) earlier(s hostir.Stmt, buffer *hostir.Tensor, reader hostir.Stmt, t *hostir.Tensor) bool {
	first, then := u.sites[s], u.sites[reader]
	if first.at >= then.at {
		return false
	}
	if len(first.loops) == 0 || len(then.loops) == 0 || first.loops[0] != then.loops[0] {
		return true
	}
	return !slices.ContainsFunc(hostir.Defs(s), func(out *hostir.Tensor) bool { return isIn(out, buffer) && !sameSlice(out, t) })
}

// sameSlice reports whether two views of a buffer are taken by the same indices.
func sameSlice(a, b *hostir.Tensor) bool {
	alike := func(x, y *hostir.Select) bool { return x.Parts == y.Parts && x.Index.String() == y.Index.String() }
	return slices.EqualFunc(selects(a), selects(b), alike)
}

// selects lists the Selects between a view and its buffer, the one nearest to the buffer first.
func selects(t *hostir.Tensor) (list []*hostir.Select) {
	hostir.EachView(t, func(v *hostir.Tensor) {
		if sel, ok := v.Of.(*hostir.Select); ok {
			list = append(list, sel)
		}
	})
	return list
}
