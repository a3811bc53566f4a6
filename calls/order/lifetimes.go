package order

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/calls"
)

// Lifetime is the time in which a program uses a buffer. For an output, it begins with the first use of its memory, and
// lasts to the end of the call.
type Lifetime struct {
	Buffer *calls.Buffer
	Output bool            // Buffer is one of calls.Program.Outputs
	spans  map[int64]*span // by rank; only ranks that use the buffer
	apart  bool            // the buffer may not share memory, and is left out of the result of Lifetimes
}

// span is a lifetime on one rank. begin covers the work that ends before all uses of the buffer. end covers the work
// that has ended when all uses have ended.
type span struct{ begin, end Clock }

// Join extends the lifetime by the lifetime of another buffer in the same memory.
func (l *Lifetime) Join(other *Lifetime) {
	for rank, s := range other.spans {
		if own := l.spans[rank]; own != nil {
			own.begin, own.end = own.begin.Common(s.begin), own.end.Merged(s.end)
		} else {
			l.spans[rank] = &span{s.begin, s.end}
		}
	}
}

// lifetimes collects the lifetimes of a program's buffers.
type lifetimes struct {
	places  *places
	program *calls.Program
	of      map[string]*Lifetime
	order   []*Lifetime         // in the order in which they begin
	roots   map[string][]string // by declared pointer: the buffers and arguments that it may point to
}

// never is a clock that no stream reaches. It ends the lifetime of an output, which the caller uses after the call.
var never = Clock{math.MaxInt}

// Lifetimes issues a program, once for each group of ranks that behave alike (RunAll), and returns the lifetimes of its
// buffers and outputs, in the order in which they begin. A buffer has no lifetime if it is unused, or if some use is
// not ordered after the caller's earlier work and before the end of the call on the caller's stream. A shared buffer
// has no lifetime in two more cases. One is that its share belongs to a RowExchange. The other is that a rank that uses
// the buffer writes no ready flags, or not as many as it waits for done flags: other ranks access the buffer between
// these two flags. A program that depends on the nodes of ranks has no lifetimes.
func Lifetimes(p *calls.Program) []*Lifetime {
	if calls.AsksForNodes(p.Body) {
		return nil
	}
	l := &lifetimes{program: p, of: map[string]*Lifetime{}, roots: rootsOf(p.Body), places: placesOf(p)}
	for _, b := range p.Buffers {
		l.of[b.Name] = &Lifetime{Buffer: b, spans: map[int64]*span{}}
	}
	for _, b := range p.Outputs() {
		l.of[b.Name] = &Lifetime{Buffer: b, Output: true, spans: map[int64]*span{}}
	}
	o := New(p)
	o.signals = newSignals()
	o.task = func(s calls.Stmt, rank int64, behind, done Clock) { l.note(o, s, rank, behind, done) }
	o.Finish = func(o *Ordering) { l.joined(o) }
	o.RunAll()
	return slices.DeleteFunc(l.order, func(one *Lifetime) bool { return one.apart })
}

// note adds a task to the lifetimes of the buffers that it may use.
func (l *lifetimes) note(o *Ordering, s calls.Stmt, rank int64, behind, done Clock) {
	for _, name := range l.mentioned(o, s) {
		one := l.of[name]
		if one == nil || !l.program.Has(one.Buffer, rank) {
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
		sp.begin, sp.end = sp.begin.Common(behind), sp.end.Merged(done)
		one.apart = one.apart || !behind.Covers(start)
	}
}

// joined handles the end of a call. It sets apart for buffers that are in use after the call, and for buffers that
// peers may access without flags. It also sets apart for the memory of a RowExchange's share, because peers write rows
// of the next call into it.
func (l *lifetimes) joined(o *Ordering) {
	end := o.CallersClock()
	for _, one := range l.order {
		sp := one.spans[o.Rank]
		if sp != nil && !end.Covers(sp.end) {
			one.apart = true
		}
		if sp != nil && one.Output {
			sp.end = never
		}
	}
	for _, s := range l.program.Shares {
		if one := l.of[s.Memory]; one != nil && one.spans[o.Rank] != nil && (s.Rows != nil || !o.signals.paired(s.Name)) {
			one.apart = true
		}
	}
}

// mentioned lists the buffers of a statement's pointers and flags. For a declared pointer in a statement with nested
// statements, it lists all buffers that the pointer may have, because they may differ between iterations.
func (l *lifetimes) mentioned(o *Ordering, s calls.Stmt) []string {
	names, several := owned(l.program, s), len(calls.Bodies(s)) > 0
	calls.RewriteAll([]calls.Stmt{s}, &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		if roots, ok := l.roots[at.Base]; several && ok {
			names = append(names, roots...)
		} else if b := l.places.at(o, at).buffer; b != nil {
			names = append(names, b.Name)
		}
		return at
	}})
	return names
}

// rootsOf returns, for each declared pointer, the buffers and arguments that it may point to.
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
