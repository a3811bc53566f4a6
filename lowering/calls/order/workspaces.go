package order

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
)

// Clash finds a statement that may work in a workspace while one on another stream does, in this call or the next
// one. `in` says which workspace a statement is to have, given the index of the one that it has, whose nil is
// the caller's; without it they keep theirs. The result is nil where all of them work alone.
func Clash(p *calls.Program, in func(index expr.Expr) expr.Expr) calls.Stmt {
	c := &clash{in: in}
	o := New(p)
	o.task = func(s calls.Stmt, _ int64, behind, done Clock) { c.note(o, s, behind, done) }
	o.Finish = c.joined
	o.RunAll()
	return c.found
}

type clash struct {
	in    func(expr.Expr) expr.Expr
	works map[int64]map[string]*work // of one rank: by workspace and stream
	found calls.Stmt
}

// work is what a stream has done so far in a workspace.
type work struct {
	stmt calls.Stmt // the last one
	done Clock
	late bool // it began when the call had not
}

// callers is the number of the caller's workspace.
const callers = -1

// note holds a task against what other streams have done in its workspace. Tasks are issued in order, so none of these waits
// for it.
func (c *clash) note(o *Ordering, s calls.Stmt, behind, done Clock) {
	index, works := calls.WorkspaceOf(s)
	if !works {
		return
	}
	if c.in != nil {
		index = c.in(index)
	}
	number := int64(callers)
	if index != nil {
		number, _ = o.walk.Env.Eval(index)
	}
	if c.works == nil {
		c.works = map[int64]map[string]*work{}
	}
	if c.works[number] == nil {
		c.works[number] = map[string]*work{}
	}
	own := o.nameOf(calls.StreamsOf(s)[0])
	for stream, before := range c.works[number] {
		if stream != own && !behind.Covers(before.done) {
			c.found = s
		}
	}
	if c.works[number][own] == nil {
		c.works[number][own] = &work{late: !behind.Covers(start)}
	}
	c.works[number][own].stmt, c.works[number][own].done = s, done
}

// joined holds what streams have done against the next call.
func (c *clash) joined(o *Ordering) {
	end := o.Clocks[o.Stream(calls.Stream{Name: calls.Caller})]
	for _, streams := range c.works {
		for _, w := range streams {
			if len(streams) > 1 && (w.late || !end.Covers(w.done)) {
				c.found = w.stmt
			}
		}
	}
	c.works = nil
}
