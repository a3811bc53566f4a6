package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// shift turns the transfers of the current iteration of a loop into the transfers of a later iteration. Each
// becomes a new statement, with a new handle and a new task.
type shift struct {
	*overlap
	by        int64                             // how many iterations later
	at        map[string]expr.Expr              // loop variable -> its value in the later iteration
	variable  string                            // the loop variable
	handles   map[string]string                 // handle of a transfer -> handle of its copy for the later iteration
	views     map[*hostir.Tensor]*hostir.Tensor // view of the current iteration -> view of the later one
	made      map[hostir.Stmt]hostir.Stmt       // statement -> its copy for the later iteration
	exchanges map[*hostir.Exchange]*hostir.Exchange
}

func newShift(o *overlap, variable string, by int64) *shift {
	return &shift{
		overlap: o, by: by, variable: variable, views: map[*hostir.Tensor]*hostir.Tensor{}, handles: map[string]string{},
		made: map[hostir.Stmt]hostir.Stmt{}, exchanges: map[*hostir.Exchange]*hostir.Exchange{},
		at: map[string]expr.Expr{variable: &expr.Binary{Op: "+", X: expr.Var(variable), Y: expr.Int(by)}},
	}
}

// list rewrites the statements of a list for the later iteration, and creates the tasks of the new transfers. Loops and
// branches in the list must not be part of other lists.
func (s *shift) list(body []hostir.Stmt) []hostir.Stmt {
	body = hostir.Rewrite(body, func(one hostir.Stmt) []hostir.Stmt {
		s.made[one] = s.statement(one)
		return []hostir.Stmt{s.made[one]}
	})
	for _, t := range s.tasks(body) {
		if t.Exchange != nil {
			t.Exchange = s.exchange(t.Exchange)
		}
		if t.setsReady() {
			s.graph.owners[t.Exchange.Shared] = append(s.graph.owners[t.Exchange.Shared], t)
		}
	}
	return body
}

func (s *shift) statement(one hostir.Stmt) hostir.Stmt {
	switch one := one.(type) {
	case *hostir.If:
		one.Cond = expr.Substitute(one.Cond, s.at)
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

// handle returns the new name of a transfer or a group.
func (s *shift) handle(old string) string {
	if s.handles[old] == "" {
		s.handles[old] = s.names.Fresh(old + "_ahead")
	}
	return s.handles[old]
}

// task creates the task of transfer, the copy of old for the later iteration. It changes the views in transfer and the
// conditions of the task to the later iteration, and returns transfer.
func (s *shift) task(old, transfer hostir.Stmt) hostir.Stmt {
	hostir.SubstituteUses(transfer, s.view)
	hostir.SubstituteDefs(transfer, s.view)
	t := *s.graph.of[old]
	t.Stmt, t.Ahead = transfer, &Ahead{s.graph.of[old], s.by}
	t.Conds = slices.Clone(t.Conds)
	for i, cond := range t.Conds {
		t.Conds[i] = expr.Substitute(cond, s.at)
	}
	s.graph.of[transfer] = &t
	return transfer
}

// view returns a view as it is in the later iteration: t itself if it does not depend on the loop variable.
func (s *shift) view(t *hostir.Tensor) *hostir.Tensor {
	if !hostir.Depends(t, s.variable) {
		return t
	}
	if s.views[t] == nil {
		s.views[t] = s.viewAs(t, s.names.Fresh(t.Name))
		s.program.Tensors = append(s.program.Tensors, s.views[t])
	}
	return s.views[t]
}

// viewAs returns a view as it is in the later iteration, under a given name.
func (s *shift) viewAs(t *hostir.Tensor, name string) *hostir.Tensor {
	view := *t
	view.Name = name
	if either, ok := t.Of.(*hostir.Either); ok {
		view.Of = &hostir.Either{
			Info: either.Info, Out: &view, Then: s.viewAs(either.Then, name), Else: s.viewAs(either.Else, name),
			Cond: expr.Substitute(either.Cond, s.at),
		}
		return &view
	}
	view.Of = hostir.MadeAs(t.Of, &view)
	hostir.SubstituteUses(view.Of, s.view)
	if sel, ok := view.Of.(*hostir.Select); ok {
		sel.Index = expr.Substitute(sel.Index, s.at)
	}
	return &view
}

// exchange pairs both sides of a new copy over CUDA IPC.
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
