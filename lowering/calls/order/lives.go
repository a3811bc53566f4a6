package order

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/calls"
)

// Life is when a program uses a buffer of its own.
type Life struct {
	Buffer *calls.Buffer
	spans  map[int64]*span // by rank
	apart  bool
}

// span is a life on one rank: what is done before all that uses the buffer, and what is when it is done.
type span struct{ begin, end Clock }

// Before reports whether, on every rank, all that uses the buffer is done before anything that uses the other one begins.
func (l *Life) Before(next *Life) bool {
	for rank, s := range l.spans {
		if later := next.spans[rank]; later == nil || !later.begin.Covers(s.end) {
			return false
		}
	}
	return len(l.spans) == len(next.spans)
}

// lives are those of the buffers of a program.
type lives struct {
	of    map[string]*Life
	order []*Life             // as they begin
	roots map[string][]string // of a declared pointer: the buffers that it may lead to
}

// Lives issues a program on every rank and gives the lives of its buffers in the order in which they begin. Buffers
// that other ranks reach have none, nor have those that are used before a call begins or after it ends on the
// caller's stream. A program that asks where ranks are when it runs has none at all.
func Lives(p *calls.Program) []*Life {
	if asksForNodes(p.Body) {
		return nil
	}
	l := &lives{of: map[string]*Life{}, roots: rootsOf(p.Body)}
	for _, b := range p.Buffers {
		if !b.Workspace {
			l.of[b.Name] = &Life{Buffer: b, spans: map[int64]*span{}}
		}
	}
	for _, s := range p.Shares {
		delete(l.of, s.Memory)
	}
	o := New(p)
	o.task = l.note
	o.Finish = func(o *Ordering) { l.joined(o.Rank, o.Clocks[o.Stream(calls.Stream{Name: calls.Caller})]) }
	o.RunAll()
	return slices.DeleteFunc(l.order, func(one *Life) bool { return one.apart })
}

// note adds a task to the lives of the buffers that it may use.
func (l *lives) note(s calls.Stmt, rank int64, behind, done Clock) {
	for _, name := range l.mentioned(s) {
		one := l.of[name]
		if one == nil {
			continue
		}
		if len(one.spans) == 0 {
			l.order = append(l.order, one)
		}
		sp := one.spans[rank]
		if sp == nil {
			sp = &span{begin: behind}
			one.spans[rank] = sp
		}
		sp.begin, sp.end = sp.begin.common(behind), sp.end.merged(done)
		one.apart = one.apart || !behind.Covers(start)
	}
}

// joined says what is done when a call ends: a buffer that is used longer stays apart.
func (l *lives) joined(rank int64, end Clock) {
	for _, one := range l.order {
		if sp := one.spans[rank]; sp != nil && !end.Covers(sp.end) {
			one.apart = true
		}
	}
}

// mentioned lists the buffers that a statement's pointers may lead to, with those of statements inside.
func (l *lives) mentioned(s calls.Stmt) []string {
	var names []string
	calls.RewriteAll([]calls.Stmt{s}, &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		if roots, ok := l.roots[at.Base]; ok {
			names = append(names, roots...)
		} else {
			names = append(names, at.Base)
		}
		return at
	}})
	return names
}

// rootsOf follows declared pointers to the memory that they may lead into.
func rootsOf(body []calls.Stmt) map[string][]string {
	roots := map[string][]string{}
	calls.Walk(body, func(s calls.Stmt) bool {
		d, ok := s.(*calls.Declare)
		if !ok {
			return true
		}
		for _, from := range []string{d.Value.Base, d.Else.Base} {
			list, known := roots[from]
			if !known && from != "" {
				list = []string{from}
			}
			roots[d.Name] = append(roots[d.Name], list...)
		}
		return true
	})
	return roots
}

// asksForNodes reports whether a branch is taken by where ranks are.
func asksForNodes(body []calls.Stmt) bool {
	found := false
	calls.Walk(body, func(s calls.Stmt) bool {
		i, ok := s.(*calls.If)
		found = found || ok && i.PeerAccess != nil
		return !found
	})
	return found
}
