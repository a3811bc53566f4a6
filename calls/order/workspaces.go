package order

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Clash returns a statement that may use a workspace while another stream uses the same workspace, in this call or the
// next; nil if there is none. The function in, unless it is nil, returns the index of the workspace to assume for a
// statement, given the index of its present one. The index nil is the caller's workspace.
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
	works map[int64]map[string]*work // of the current rank: by workspace and stream
	found calls.Stmt
}

// work is the use of a workspace by a stream so far.
type work struct {
	stmt calls.Stmt // the last statement of the stream in the workspace
	done Clock
	late bool // the first use is not ordered after the caller's earlier work
}

// callers is the number of the caller's workspace.
const callers = -1

// note sets c.found to s if the task of s is not ordered after the earlier work of another stream in the same
// workspace. Then it records the task. The opposite order needs no check, because a task never waits for a task that is
// issued later.
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
		number, _ = o.walk.Value(nil, index)
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

// joined handles the end of a call: it checks whether a workspace of several streams may still be in use when the next
// call begins.
func (c *clash) joined(o *Ordering) {
	end := o.CallersClock()
	for _, streams := range c.works {
		for _, w := range streams {
			if len(streams) > 1 && (w.late || !end.Covers(w.done)) {
				c.found = w.stmt
			}
		}
	}
	c.works = nil
}
