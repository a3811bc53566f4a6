package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// shift makes the transfers of a later iteration of a loop from those of the one at hand. Each is a new statement, with
// a handle of its own, and a task of its own.
type shift struct {
	*overlap
	by        int64                // iterations
	at        map[string]expr.Expr // loop variable -> its value then
	handles   map[string]string
	made      map[hostir.Stmt]hostir.Stmt // statement -> that of the later iteration
	exchanges map[*hostir.Exchange]*hostir.Exchange
}

func newShift(o *overlap, variable string, by int64) *shift {
	return &shift{
		overlap: o, by: by, handles: map[string]string{}, made: map[hostir.Stmt]hostir.Stmt{}, exchanges: map[*hostir.Exchange]*hostir.Exchange{},
		at: map[string]expr.Expr{variable: &expr.Binary{Op: "+", X: expr.Var(variable), Y: expr.Int(by)}},
	}
}

// list changes statements whose loops, branches and views are theirs alone.
func (s *shift) list(body []hostir.Stmt) []hostir.Stmt {
	body = hostir.Rewrite(body, func(one hostir.Stmt) []hostir.Stmt {
		s.made[one] = s.statement(one)
		return []hostir.Stmt{s.made[one]}
	})
	for _, t := range s.tasks(body) {
		if t.Exchange != nil {
			t.Exchange = s.exchange(t.Exchange)
		}
		if t.lends() {
			s.graph.owners[t.Exchange.Shared] = append(s.graph.owners[t.Exchange.Shared], t)
		}
	}
	return body
}

func (s *shift) statement(one hostir.Stmt) hostir.Stmt {
	switch one := one.(type) {
	case *hostir.If:
		one.Cond = expr.Substitute(one.Cond, s.at)
	case *hostir.Select:
		one.Index = expr.Substitute(one.Index, s.at)
	case *hostir.Communication:
		c := *one
		c.Handle = s.handle(c.Handle)
		if c.Root != nil {
			c.Root = expr.Substitute(c.Root, s.at)
		}
		return s.task(one, &c)
	case *hostir.P2PCommunication:
		c := *one
		c.Handle, c.Peer = s.handle(c.Handle), expr.Substitute(c.Peer, s.at)
		return s.task(one, &c)
	case *hostir.ShareMemHandles:
		c := *one
		c.Comms = slices.Clone(c.Comms)
		for i, handle := range c.Comms {
			c.Comms[i] = s.handle(handle)
		}
		return &c
	case *hostir.StartCoalescing:
		c := *one
		return &c
	case *hostir.EndCoalescing:
		c := *one
		c.Handle = s.handle(c.Handle)
		for _, member := range s.graph.members[one] {
			t := s.graph.of[s.made[member.Stmt]]
			t.Group = &c
			s.graph.members[&c] = append(s.graph.members[&c], t)
		}
		return &c
	}
	return one
}

// handle is the new name of a transfer or a group.
func (s *shift) handle(old string) string {
	if s.handles[old] == "" {
		s.handles[old] = s.Fresh(old + "_ahead")
	}
	return s.handles[old]
}

// task notes what a new transfer is that of.
func (s *shift) task(old, transfer hostir.Stmt) hostir.Stmt {
	t := *s.graph.of[old]
	t.Stmt, t.Ahead = transfer, &Ahead{s.graph.of[old], s.by}
	t.Conds = slices.Clone(t.Conds)
	for i, cond := range t.Conds {
		t.Conds[i] = expr.Substitute(cond, s.at)
	}
	s.graph.of[transfer] = &t
	return transfer
}

// exchange has both sides of a new copy between shared memories.
func (s *shift) exchange(old *hostir.Exchange) *hostir.Exchange {
	if s.exchanges[old] == nil {
		e := &hostir.Exchange{}
		e.Shared, _ = s.made[old.Shared].(*hostir.ShareMemHandles)
		e.Send, _ = s.made[old.Send].(*hostir.P2PCommunication)
		e.Recv, _ = s.made[old.Recv].(*hostir.P2PCommunication)
		s.exchanges[old] = e
	}
	return s.exchanges[old]
}
