package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
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
	other   map[*Tensor]*Tensor // view that both sides of an If made -> that of the first side, if it is another one
	group   *StartCoalescing    // the open group
	signal  bool                // it holds transfers between shared memories
	loops   []*For              // that enclose the statement at hand
	started map[string][]*For   // handle -> the loops that it was started in
	shares  map[string]*Exchange
	earlier []earlierWait // waits for earlier iterations of the outermost loop at hand
}

// earlierWait is a Wait for an earlier iteration: what it waits for may be started behind it.
type earlierWait struct {
	*Wait
	loops []*For // that enclose it
}

func (v *verifier) flow() {
	f := &flow{
		verifier: v, facts: map[fact]bool{}, started: map[string][]*For{},
		base: map[*Tensor]*Tensor{}, other: map[*Tensor]*Tensor{},
		shares: Exchanges(v.program),
	}
	f.block(v.program.Body)
	for _, p := range f.pending(0) {
		f.breach(f.position(v.program.Body), "wait", "%s is started and not waited for", p)
	}
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

// block checks the statements of one list; groups end in the list that opens them.
func (f *flow) block(body []Stmt) {
	outer, signal := f.group, f.signal
	f.group, f.signal = nil, false
	for _, s := range body {
		f.statement(s)
	}
	if f.group != nil {
		f.breach(f.group.Pos, "group", "the group is not closed in the statements where it was opened")
	}
	f.group, f.signal = outer, signal
}

func (f *flow) position(body []Stmt) diag.Pos {
	if len(body) == 0 {
		return diag.Pos{}
	}
	return body[len(body)-1].Meta().Pos
}

func (f *flow) statement(s Stmt) {
	if _, ok := s.(*P2PCommunication); !ok && f.group != nil && !f.signal {
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
		if s.Stream.Index == nil && s.Stream.Var != CopyStream {
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
		f.group, f.signal = s, f.signals[s]
	case *EndCoalescing:
		if f.group == nil {
			f.breach(s.Pos, "group", "no group is open")
		}
		if !f.signal {
			f.start(s.Handle)
		}
		f.group, f.signal = nil, false
	case *Communication:
		f.expression(s.Pos, "the root", s.Root, int64(len(s.Mesh.Ranks)))
		if f.group == nil {
			f.start(s.Handle)
		}
	case *P2PCommunication:
		world := f.bounds.names["rank"].high + 1
		f.expressionOn(s.Pos, s.Buffer.Mesh, "the peer", s.Peer, world)
		f.teammate(s)
		if f.group == nil || f.signal {
			f.start(s.Handle)
		}
	case *Select:
		if s.Axis < len(s.In.Axes) {
			f.expressionOn(s.Pos, s.In.Mesh, "the index", s.Index, s.choices())
		}
	}
}

// loop checks a body once. What it adds ends with it, but for what it wrote and what it
// started: a later loop may wait for that.
func (f *flow) loop(s *For) {
	if s.Count.Size < 1 || s.First < 0 || s.First > s.Count.Size {
		f.breach(s.Pos, "domain", "the loop runs %d times", s.Count.Size-s.First)
	}
	outer, shadowed := f.bounds.names[s.Var]
	if shadowed {
		f.breach(s.Pos, "scope", "loop variable %s is in use already", s.Var)
	}
	f.bounds.names[s.Var] = interval{s.First, max(s.First, s.Count.Size-1)}
	mark := len(f.log)
	f.loops = append(f.loops, s)
	f.block(s.Body)
	f.loops = f.loops[:len(f.loops)-1]
	delete(f.bounds.names, s.Var)
	if shadowed {
		f.bounds.names[s.Var] = outer
	}
	if len(f.loops) == 0 {
		for _, w := range f.earlier {
			f.waitFor(w.Wait, w.loops)
		}
		f.earlier = nil
	}
	own := map[fact]bool{} // what the body itself adds, and may take away again
	for _, c := range f.log[mark:] {
		own[c.fact] = own[c.fact] || c.added
	}
	changes := f.undo(mark, func(c change) bool { return own[c.fact] && !c.fact.kind.outlives() })
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
	lasting := f.lasting(mark)
	then, current := f.undo(mark, all), f.current
	f.current = start
	first := f.bases(then)
	f.block(s.Else)
	lasting = append(lasting, f.lasting(mark)...)
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
			if t, ok := c.fact.what.(*Tensor); ok && c.fact.kind == viewed && first[t] != f.base[t] {
				f.other[t] = first[t]
			}
		}
	}
	for _, c := range append(then, other...) {
		if !c.added {
			f.set(c.fact.kind, c.fact.what, false)
		} else if c.fact.kind == freed {
			f.set(freed, c.fact.what, true)
		}
	}
	for _, k := range lasting {
		f.set(k.kind, k.what, true)
	}
}

// bases gives the buffers behind the views that some changes have made.
func (f *flow) bases(changes []change) map[*Tensor]*Tensor {
	bases := map[*Tensor]*Tensor{}
	for _, c := range changes {
		if t, ok := c.fact.what.(*Tensor); ok && c.added && c.fact.kind == viewed {
			bases[t] = f.base[t]
		}
	}
	return bases
}

// pending lists what was started since mark and is not waited for: a branch may leave that to
// what follows it, since the condition of a step is the same in a later loop.
func (f *flow) pending(mark int) []fact { return f.added(mark, started) }

// added lists the facts of a kind that were added since mark and still hold.
func (f *flow) added(mark int, kind factKind) []fact {
	var list []fact
	for _, c := range f.log[mark:] {
		if c.added && c.fact.kind == kind && f.facts[c.fact] {
			list = append(list, c.fact)
		}
	}
	return list
}

// lasting lists what holds behind one side of a branch, whichever side is taken: what it
// started and, in a loop, whose iterations take both sides, what it wrote.
func (f *flow) lasting(mark int) []fact {
	list := f.pending(mark)
	if len(f.loops) > 0 {
		list = append(list, f.added(mark, written)...)
	}
	return list
}

func (f *flow) stream(pos diag.Pos, r StreamRef) {
	switch {
	case r.Index != nil:
		f.expression(pos, "the worker", r.Index, int64(f.program.Streams))
	case r.Var != CopyStream && !f.facts[fact{streamed, r.Var}]:
		f.breach(pos, "stream", "stream %s is not named before", r.Var)
	}
}

// start notes that a communication is under way, and in which loops.
func (f *flow) start(handle string) {
	f.set(started, handle, true)
	f.started[handle] = slices.Clone(f.loops)
}

// within reports whether some loops begin with loops over the variables of the loops
// given. Which iterations each of them leaves out shows when the program is interpreted.
func within(enclosing, loops []*For) bool {
	if len(loops) > len(enclosing) {
		return false
	}
	for i, l := range loops {
		if enclosing[i].Var != l.Var {
			return false
		}
	}
	return true
}

func (f *flow) wait(s *Wait) {
	if s.Iteration == nil {
		f.waitFor(s, f.loops)
		return
	}
	if _, unknown := f.bounds.of(s.Iteration); unknown != "" {
		f.breach(s.Pos, "scope", "the iteration %s uses %s, which has no value here", s.Iteration, unknown)
	}
	if len(f.loops) == 0 {
		f.breach(s.Pos, "wait", "%s is waited for in an iteration of no loop", s.Handle)
		return
	}
	f.earlier = append(f.earlier, earlierWait{s, slices.Clone(f.loops)})
}

// waitFor checks a wait that stands in some loops.
func (f *flow) waitFor(s *Wait, loops []*For) {
	switch {
	case f.facts[fact{waitedFor, s.Handle}]:
		f.breach(s.Pos, "wait", "%s is waited for twice", s.Handle)
	case !f.facts[fact{started, s.Handle}]:
		f.breach(s.Pos, "wait", "%s is not started before it is waited for", s.Handle)
		return
	case !within(loops, f.started[s.Handle]):
		f.breach(s.Pos, "wait", "%s is started in loops that the wait is not in, and in no loops like them", s.Handle)
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

// expressionOn is expression for the ranks of a mesh. The interval of all of them is too wide
// for what tells ranks apart one by one; their values then show.
func (f *flow) expressionOn(pos diag.Pos, mesh *domain.Mesh, what string, e expr.Expr, limit int64) {
	if mesh != nil && len(mesh.Ranks) > 0 && e != nil {
		inside := true
		value, unknown := f.bounds.of(e)
		if unknown == "" && (value.low < 0 || value.high >= limit) && f.bounds.each(e, mesh.Ranks, func(_ int, value int64) bool {
			inside = value >= 0 && value < limit
			return inside
		}) && inside {
			return
		}
	}
	f.expression(pos, what, e, limit)
}

// teammate checks that a transfer between shared memories stays among the ranks that share them.
func (f *flow) teammate(s *P2PCommunication) {
	e := f.shares[s.Handle]
	if e == nil || e.Shared.Mesh == nil || e.Shared.Mesh.Axis(e.Shared.MeshAxis) == nil || s.Buffer.Mesh == nil {
		return
	}
	f.bounds.each(s.Peer, s.Buffer.Mesh.Ranks, func(rank int, peer int64) bool {
		joined := e.Shared.Joins(rank, int(peer))
		if !joined {
			f.breach(s.Pos, "shared", "%s of rank %d is with rank %d, which is not along axis %s of mesh %s",
				s.Handle, rank, peer, e.Shared.MeshAxis, e.Shared.Mesh.Name)
		}
		return joined
	})
}
