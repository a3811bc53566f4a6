// Package align computes the alignment of the pointers of a program of calls, over all ranks and iterations. All
// alignments are in bytes, and powers of two.
package align

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Widest is the widest memory access of libraries and kernels, in bytes. No operand in memory of the caller needs a
// larger alignment.
const Widest = 16

// Alignments of memory.
const (
	Argument = 16  // the caller's arguments, by contract
	Buffer   = 256 // the program's buffers, by cudaMalloc
)

// most is the largest alignment: the alignment of 0.
const most = 1 << 30

// Scope holds what is known about names and pointers at one statement.
type Scope struct {
	program *calls.Program
	values  calls.Values     // by name; only names that have the same value on all ranks and in all iterations
	names   map[string]int64 // by name that a statement defines: a power of two that divides all its values
	bases   map[string]base
	shares  map[string]*calls.Share
}

// base describes the memory that a name in a pointer refers to: a buffer, an argument, a share or a declared pointer.
type base struct {
	bytes int64 // the alignment of the start of its memory
	size  int64 // bytes of an element
	at    int64 // offset of the base from the start of its memory, in bytes
}

// Visit calls visit for all statements in order, also nested ones. at knows the names defined so far.
func Visit(p *calls.Program, visit func(s calls.Stmt, at *Scope)) {
	at := newScope(p)
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		at.enter(s)
		visit(s, at)
		return true
	})
}

func newScope(p *calls.Program) *Scope {
	at := &Scope{program: p, values: p.Values(), names: map[string]int64{}, bases: map[string]base{}, shares: calls.ByName(p.Shares)}
	if ranks := p.Ranks(); len(ranks) == 1 {
		at.values["rank"] = ranks[0]
	}
	for _, d := range p.Arguments {
		at.bases[d.Name] = base{Argument, d.Type.Size(), 0}
	}
	for _, d := range p.Buffers {
		if d.In == "" {
			at.bases[d.Name] = base{Buffer, d.Type.Size(), 0}
		}
	}
	for _, d := range p.Buffers {
		if d.In != "" {
			at.bases[d.Name] = base{at.bases[d.In].bytes, d.Type.Size(), d.Offset}
		}
	}
	return at
}

// enter records the loop variable, number or pointer that a statement defines, if any.
func (at *Scope) enter(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.For:
		count, ok := at.values.Eval(s.Count)
		at.let(s.Var, s.First, ok && count == s.First+1, 1)
	case *calls.Let:
		value, ok := int64(0), false
		switch {
		case s.Mesh == "" && s.Value == nil:
			value, ok = at.values["rank"]
		case s.Mesh == "":
			value, ok = at.values.Eval(s.Value)
		}
		multiple := int64(1)
		if s.Value != nil {
			multiple = at.Multiple(s.Value)
		}
		at.let(s.Name, value, ok, multiple)
	case *calls.Declare:
		of := at.of(s.Value)
		if s.Cond != nil {
			of = base{bytes: min(of.alignment(), at.Of(s.Else))}
		}
		of.size = s.Type.Size()
		at.bases[s.Name] = of
	}
}

// let defines a name. If one is set, value is its only value. multiple divides all its values.
func (at *Scope) let(name string, value int64, one bool, multiple int64) {
	delete(at.values, name)
	if at.names[name] = multiple; one {
		at.values[name] = value
	}
}

// Of returns the alignment of a pointer on all ranks and in all iterations.
func (at *Scope) Of(p calls.Pointer) int64 { return at.of(p).alignment() }

// alignment returns the alignment of the address at which the base begins.
func (b base) alignment() int64 { return min(b.bytes, PowerOf(b.at)) }

// of resolves a pointer to a base at its address. The alignment of an unknown base is 1.
func (at *Scope) of(p calls.Pointer) base {
	of, ok := at.bases[p.Base]
	if d := at.shares[p.Base]; d != nil && p.Peer != nil {
		of, ok = base{at.bases[d.Memory].bytes, d.Type.Size(), 0}, true
	}
	switch {
	case p.Base == "":
		return base{bytes: Buffer} // a null pointer
	case !ok:
		return base{bytes: 1}
	case p.Offset == nil:
		return of
	}
	if offset, known := at.values.Eval(p.Offset); known {
		of.at += of.size * offset
		return of
	}
	return base{bytes: min(of.alignment(), of.size*at.Multiple(p.Offset))}
}

// Multiple returns a power of two that divides all values of an expression, or 1 if it knows no larger one.
func (at *Scope) Multiple(e expr.Expr) int64 {
	if value, ok := at.values.Eval(e); ok {
		return PowerOf(value)
	}
	b, ok := e.(*expr.Binary)
	if !ok {
		return max(1, at.names[e.String()])
	}
	x, y := at.Multiple(b.X), at.Multiple(b.Y)
	switch b.Op {
	case "+", "-", "%", "^":
		return min(x, y)
	case "*":
		return min(x*y, most)
	case "/": // the expressions of programs divide only without a remainder
		if by, ok := at.values.Eval(b.Y); ok {
			return max(1, x/PowerOf(by))
		}
	}
	return 1
}

// PowerOf returns the largest power of two that divides a number, at most 1 << 30 (also for 0).
func PowerOf(n int64) int64 {
	if n == 0 {
		return most
	}
	return min(n&-n, most)
}
