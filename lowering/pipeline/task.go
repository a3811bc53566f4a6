package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Task is a statement that moves or computes data, with the loops around it. It has one instance for each
// iteration in which it runs.
type Task struct {
	Stmt  hostir.Stmt
	Loops []*hostir.For // from the outermost one
	// Group is the end of the group that contains the statement, or nil.
	Group *hostir.EndCoalescing
	// Conds are the conditions of the branches around the task, from the outermost one. The task runs only
	// where all of them are true.
	Conds []expr.Expr
	// Exchange is the send and the receive of a transfer over CUDA IPC; nil for other tasks.
	Exchange *hostir.Exchange

	// Ahead is set if the statement moves the data of a later iteration.
	Ahead *Ahead

	uses, defs []*hostir.Tensor

	id    int   // index in Graph.Tasks; with Ahead, the index of the original task
	count int64 // the largest number of instances on any rank
}

// IsTransfer reports whether the task is a collective, a send or a receive, whose end a Wait marks.
func (t *Task) IsTransfer() bool { return isTransfer(t.Stmt) }

// Handle returns the name that a Wait for the task uses.
func (t *Task) Handle() string {
	if t.Group != nil {
		return t.Group.Handle
	}
	return hostir.Handle(t.Stmt)
}

// setsReady reports whether the task sets the ready flag of its buffer, for a peer that copies.
func (t *Task) setsReady() bool {
	return t.Exchange != nil && t.Stmt == hostir.Stmt(t.Exchange.Owner())
}

// copies reports whether the task copies from or to a peer's buffer.
func (t *Task) copies() bool {
	return t.Exchange != nil && t.Stmt == hostir.Stmt(t.Exchange.Copier())
}

func isTransfer(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Communication, *hostir.P2PCommunication:
		return true
	default:
		return false
	}
}

// collector lists the tasks of a program.
type collector struct {
	exchanges map[string]*hostir.Exchange
	loops     []*hostir.For
	conds     []expr.Expr
	tasks     []*Task
}

func tasksOf(p *hostir.Program) []*Task {
	c := &collector{exchanges: hostir.Exchanges(p)}
	c.block(p.Body)
	return c.tasks
}

func (c *collector) block(body []hostir.Stmt) {
	first := len(c.tasks)
	for _, s := range body {
		switch s := s.(type) {
		case *hostir.For:
			c.loops = append(c.loops, s)
			c.block(s.Body)
			c.loops = c.loops[:len(c.loops)-1]
		case *hostir.If:
			c.under(s.Cond, s.Body)
			c.under(expr.Opposite(s.Cond), s.Else)
		case *hostir.StartCoalescing:
			first = len(c.tasks)
		case *hostir.EndCoalescing:
			for _, t := range c.tasks[first:] {
				t.Group = s
			}
		default:
			c.leaf(s)
		}
	}
}

// under collects the tasks that run under a condition.
func (c *collector) under(cond expr.Expr, body []hostir.Stmt) {
	c.conds = append(c.conds, cond)
	c.block(body)
	c.conds = c.conds[:len(c.conds)-1]
}

// leaf adds the task of a statement, if it reads or writes tensors.
func (c *collector) leaf(s hostir.Stmt) {
	uses, defs := hostir.Uses(s), hostir.Defs(s)
	if len(uses)+len(defs) == 0 {
		return
	}
	t := &Task{Stmt: s, uses: uses, defs: defs, Loops: slices.Clone(c.loops), Conds: slices.Clone(c.conds), id: len(c.tasks)}
	if p, ok := s.(*hostir.P2PCommunication); ok && p.Backend.IPC() {
		t.Exchange = c.exchanges[p.Handle]
	}
	c.tasks = append(c.tasks, t)
}
