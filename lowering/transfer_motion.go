package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// way says where a statement of a work loop goes.
type way int

const (
	stays      way = iota
	lend           // before the loop, first
	copyAhead      // before the loop, on the copy stream
	teamAhead      // before the loop, on a team's stream
	lateCopier     // after the loop: a Wait for a copy of this rank
	lateOwner      // after the loop: a Wait for the peer to have copied
	atTheEnd       // after everything: a Wait for the peer to have copied what the caller owns
	borrowed       // into a sum: a receive of what it reads where it is
	dropped        // nowhere: what such a sum does without
)

// motion finds out which statements of a loop may leave it, and takes them out.
type motion struct {
	program   *hostir.Program
	names     *hostir.Namer
	caller    string
	exchanges map[string]*hostir.Exchange
	params    map[string]int64
	makes     map[hostir.Stmt]bool              // whether a statement makes a view
	base      map[*hostir.Tensor]*hostir.Tensor // view -> the buffer behind it; of one that is the own slice in one step, that of the other steps. A view of the own slice in all steps has none: peers write the others alone
	ways      map[hostir.Stmt]way
	selects   map[*hostir.Tensor]*hostir.Select // view -> what makes it in the loops at hand
	sent      map[string][]*hostir.Tensor       // handle -> what its transfers read on this rank
	filled    map[string][]*hostir.Tensor       // handle -> what they write
	scopes    []*scope                          // the loop at hand, and those in it around the statement at hand
}

func newMotion(p *hostir.Program) *motion {
	m := &motion{
		program: p, makes: hostir.ViewMakers(p.Body), names: hostir.NewNamer(p), exchanges: hostir.Exchanges(p), params: map[string]int64{},
		base: map[*hostir.Tensor]*hostir.Tensor{},
		ways: map[hostir.Stmt]way{}, selects: map[*hostir.Tensor]*hostir.Select{},
		sent: map[string][]*hostir.Tensor{}, filled: map[string][]*hostir.Tensor{},
	}
	for _, param := range p.Params {
		m.params[param.Name] = param.Value
	}
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		if get, ok := s.(*hostir.GetCurrentStream); ok {
			m.caller = get.Var
		}
		if sel, ok := s.(*hostir.Select); m.makes[s] && (!ok || !sel.Owns()) {
			m.base[hostir.Result(s)] = root(m.base, hostir.Uses(s)[0])
		}
		return true
	})
	return m
}

// examine decides where each statement of a loop goes.
func (m *motion) examine(loop *hostir.For) {
	hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
		if sel, ok := s.(*hostir.Select); ok {
			m.selects[sel.Out] = sel
		}
		return true
	})
	m.inside(loop, func() { m.transfers(loop.Body) })
	m.inside(loop, func() { m.waits(loop.Body, nil) })
}

// inside does something with the statements of a loop.
func (m *motion) inside(loop *hostir.For, do func()) {
	inner := &scope{[]string{loop.Var}, map[*hostir.Tensor]bool{}, map[*hostir.Tensor]bool{}, map[*hostir.Tensor]bool{}}
	m.writes(inner, loop.Body)
	m.scopes = append(m.scopes, inner)
	do()
	m.scopes = m.scopes[:len(m.scopes)-1]
}

// works reports whether a loop does more than name memory and move data. A reshape into memory of
// its own is work.
func (m *motion) works(loop *hostir.For) bool {
	return hostir.Any(loop.Body, func(s hostir.Stmt) bool {
		view, known := m.makes[s]
		names := view || !known && hostir.MakesView(s) // the pass itself adds views alone
		return len(hostir.Defs(s)) > 0 && !isTransfer(s) && !names
	})
}

// movesData reports whether a loop moves data between ranks, and does not only lend it.
func movesData(loop *hostir.For) bool {
	return hostir.Any(loop.Body, func(s hostir.Stmt) bool {
		p, isP2P := s.(*hostir.P2PCommunication)
		return isTransfer(s) && (!isP2P || !p.Owns())
	})
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

// transfers decides which transfers of a list of statements go before the loop. A group goes
// as a whole.
func (m *motion) transfers(body []hostir.Stmt) {
	var group []hostir.Stmt
	for _, s := range body {
		m.each(s, m.transfers)
		if _, opens := s.(*hostir.StartCoalescing); opens || group != nil {
			group = append(group, s)
			if end, ends := s.(*hostir.EndCoalescing); ends {
				m.group(group, end.Handle)
				group = nil
			}
			continue
		}
		switch s := s.(type) {
		case *hostir.Communication:
			m.note(s.Handle, s)
			if m.free(s) {
				m.ways[s] = teamAhead
			}
		case *hostir.P2PCommunication:
			m.note(s.Handle, s)
			if e := m.exchanges[s.Handle]; e != nil && s == e.Copier() {
				m.exchange(e)
			}
		}
	}
}

// each does something with the lists of statements inside of a statement.
func (m *motion) each(s hostir.Stmt, do func(body []hostir.Stmt)) {
	for _, inner := range hostir.Bodies(s) {
		if loop, ok := s.(*hostir.For); ok {
			m.inside(loop, func() { do(*inner) })
		} else {
			do(*inner)
		}
	}
}

// exchange decides on a transfer between shared memories. The copy goes only with the loan:
// whoever copies has lent before, so that no two ranks wait for each other.
func (m *motion) exchange(e *hostir.Exchange) {
	if m.ways[e.Owner()] != lend && !m.free(e.Owner()) {
		return
	}
	m.ways[e.Shared], m.ways[e.Owner()] = lend, lend
	if m.free(e.Copier()) {
		m.ways[e.Copier()] = copyAhead
	}
}

func (m *motion) group(list []hostir.Stmt, handle string) {
	all := true
	for _, s := range list[1 : len(list)-1] {
		m.note(handle, s)
		all = all && m.free(s)
	}
	for _, s := range list {
		if all {
			m.ways[s] = teamAhead
		}
	}
}

// note remembers what a handle stands for.
func (m *motion) note(handle string, s hostir.Stmt) {
	m.sent[handle] = append(m.sent[handle], hostir.Uses(s)...)
	m.filled[handle] = append(m.filled[handle], hostir.Defs(s)...)
}

// free reports whether a transfer depends on no other statement of the loop: nothing there
// makes what it reads, and what it writes is another slice in each iteration, which nothing
// else writes.
func (m *motion) free(s hostir.Stmt) bool {
	loop := m.scopes[0]
	for _, t := range hostir.Uses(s) {
		if b := root(m.base, t); loop.computed[b] || loop.received[b] {
			return false
		}
	}
	for _, t := range hostir.Defs(s) {
		if loop.computed[root(m.base, t)] || slices.ContainsFunc(m.scopes, func(in *scope) bool { return !m.sliced(t, in) }) {
			return false
		}
	}
	return true
}

// sliced reports whether a view is another part of its buffer in each iteration of a loop.
func (m *motion) sliced(t *hostir.Tensor, loop *scope) bool {
	for sel := m.selects[t]; sel != nil; sel = m.selects[sel.In] {
		if mentions(sel.Index, loop.variables[0]) {
			return true
		}
	}
	return false
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
