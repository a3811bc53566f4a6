package hostir

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
)

// flow follows a program along its paths. What a branch or loop body adds is undone
// at its end unless it outlives it; the log makes that cost what was added, so that
// checking is linear in the program.
type flow struct {
	*verifier
	facts   map[fact]bool
	log     []change
	current string              // the current stream, as text; "" is the caller's
	base    map[*Tensor]*Tensor // view -> the buffer behind it
	group   *StartCoalescing    // the open group
	depth   int                 // of enclosing loops
}

func (v *verifier) flow() {
	f := &flow{verifier: v, facts: map[fact]bool{}, base: map[*Tensor]*Tensor{}}
	f.block(v.program.Body)
	var end diag.Pos
	if n := len(v.program.Body); n > 0 {
		end = v.program.Body[n-1].Meta().Pos
	}
	if f.current != "" {
		f.breach(end, "stream", "%s is current at the end, not the caller's stream", f.current)
	}
	for _, t := range v.program.Tensors {
		if t.Role == Output && !f.facts[fact{written, t}] {
			f.breach(t.Pos, "written", "output %s is never written", t.Name)
		}
	}
}

// block checks the statements of one list; groups and handles that it starts end in it.
func (f *flow) block(body []Stmt) {
	outer, mark := f.group, len(f.log)
	f.group = nil
	for _, s := range body {
		f.statement(s)
	}
	if f.group != nil {
		f.breach(f.group.Pos, "group", "the group is not closed in the statements where it was opened")
	}
	f.group = outer
	for _, c := range f.log[mark:] {
		if c.added && c.fact.kind == started && f.facts[c.fact] {
			f.breach(f.position(body), "wait", "%s is started and not waited for", c.fact)
		}
	}
}

func (f *flow) position(body []Stmt) diag.Pos {
	if len(body) == 0 {
		return diag.Pos{}
	}
	return body[len(body)-1].Meta().Pos
}

func (f *flow) statement(s Stmt) {
	if _, ok := s.(*P2PCommunication); !ok && f.group != nil {
		switch s.(type) {
		case *Communication, *EndCoalescing:
		default:
			f.breach(s.Meta().Pos, "group", "%s stands in an open group", s.Op())
		}
	}
	f.buffers(s)
	switch s := s.(type) {
	case *For:
		f.loop(s)
	case *If:
		f.branch(s)
	case *GetCurrentStream:
		f.set(streamed, s.Var, true)
		if f.current != "" {
			f.breach(s.Pos, "stream", "%s would name %s, not the caller's stream", s.Var, f.current)
		}
	case *SetCurrentStream:
		f.stream(s.Pos, s.Stream)
		f.current = s.Stream.String()
		if s.Stream.Index == nil {
			f.current = ""
		}
	case *Synchronize:
		f.stream(s.Pos, s.Stream)
	case *Wait:
		f.wait(s)
	default:
		f.transfers(s)
	}
}

// transfers follows communications and groups.
func (f *flow) transfers(s Stmt) {
	switch s := s.(type) {
	case *StartCoalescing:
		f.group = s
	case *EndCoalescing:
		if f.group == nil {
			f.breach(s.Pos, "group", "no group is open")
		}
		f.group = nil
		f.set(started, s.Handle, true)
	case *Communication:
		f.expression(s.Pos, "the root", s.Root, int64(len(s.Mesh.Ranks)))
		if f.group == nil {
			f.set(started, s.Handle, true)
		}
	case *P2PCommunication:
		world := f.bounds.names["rank"].high + 1
		f.expression(s.Pos, "the peer", s.Peer, world)
		if f.group == nil {
			f.set(started, s.Handle, true)
		}
	case *Select:
		if s.Axis < len(s.In.Axes) {
			f.expression(s.Pos, "the index", s.Index, s.In.Axes[s.Axis].LocalSize())
		}
	}
}

// loop checks a body once. What it adds ends with it, but for what it wrote.
func (f *flow) loop(s *For) {
	if s.Count.Size < 1 {
		f.breach(s.Pos, "domain", "the loop runs %d times", s.Count.Size)
	}
	outer, shadowed := f.bounds.names[s.Var]
	if shadowed {
		f.breach(s.Pos, "scope", "loop variable %s is in use already", s.Var)
	}
	f.bounds.names[s.Var] = interval{0, s.Count.Size - 1}
	mark := len(f.log)
	f.depth++
	f.block(s.Body)
	f.depth--
	delete(f.bounds.names, s.Var)
	if shadowed {
		f.bounds.names[s.Var] = outer
	}
	own := map[fact]bool{} // what the body itself adds, and may take away again
	for _, c := range f.log[mark:] {
		own[c.fact] = own[c.fact] || c.added
	}
	changes := f.undo(mark, func(c change) bool { return own[c.fact] && c.fact.kind != written && c.fact.kind != freed })
	for _, c := range changes {
		if c.fact.kind == allocated && !own[c.fact] {
			f.breach(s.Pos, "buffer", "the loop frees %s in every iteration", c.fact)
		}
	}
}

// branch checks both sides from the same start; what holds afterwards is what both
// sides add, and what neither takes away.
func (f *flow) branch(s *If) {
	f.expression(s.Pos, "the condition", s.Cond, 1<<62)
	start, mark := f.current, len(f.log)
	all := func(change) bool { return true }
	f.block(s.Body)
	then, current := f.undo(mark, all), f.current
	f.current = start
	f.block(s.Else)
	other := f.undo(mark, all)
	if f.current != current {
		f.breach(s.Pos, "stream", "the sides of the If leave different streams current")
	}
	both := map[fact]bool{}
	for _, c := range then {
		both[c.fact] = c.added
	}
	for _, c := range other {
		if added, ok := both[c.fact]; c.added && ok && added {
			f.set(c.fact.kind, c.fact.what, true)
		}
	}
	for _, c := range append(then, other...) {
		if !c.added {
			f.set(c.fact.kind, c.fact.what, false)
		} else if c.fact.kind == freed {
			f.set(freed, c.fact.what, true)
		}
	}
}

func (f *flow) stream(pos diag.Pos, r StreamRef) {
	switch {
	case r.Index != nil:
		f.expression(pos, "the worker", r.Index, int64(f.program.Streams))
	case !f.facts[fact{streamed, r.Var}]:
		f.breach(pos, "stream", "stream %s is not named before", r.Var)
	}
}

func (f *flow) wait(s *Wait) {
	switch {
	case f.facts[fact{waitedFor, s.Handle}]:
		f.breach(s.Pos, "wait", "%s is waited for twice", s.Handle)
	case !f.facts[fact{started, s.Handle}]:
		f.breach(s.Pos, "wait", "%s is not started before it is waited for", s.Handle)
		return
	}
	f.set(started, s.Handle, false)
	f.set(waitedFor, s.Handle, true)
}

// expression checks names and range: 0 to limit-1. A nil expression is none.
func (f *flow) expression(pos diag.Pos, what string, e expr.Expr, limit int64) {
	if e == nil {
		return
	}
	value, unknown := f.bounds.of(e)
	switch {
	case unknown != "":
		f.breach(pos, "scope", "%s %s uses %s, which has no value here", what, e, unknown)
	case value.low < 0 || value.high >= limit:
		f.breach(pos, "range", "%s %s takes values from %d to %d; it must be between 0 and %d",
			what, e, value.low, value.high, limit-1)
	}
}
