package interp

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/tasks"
)

// CallersStream is the name of the stream on which each call of a program begins and ends.
const CallersStream = "caller's stream"

// Event is a piece of work of a program, on one stream of one rank.
type Event struct {
	Rank      int         // -1 for what ranks do together
	Stmt      hostir.Stmt // nil for what the caller does between calls
	Iteration []int64     // of the loops around the statement, from the outermost one
	// Stream is where it stands, behind what was issued there before; empty for what stands on none:
	// where ranks meet, and signals until a stream waits for them.
	Stream string
	Call   int   // of the program, from 1
	After  []int // events that have to end before
	// Accesses are the elements that it touches, also for other ranks whose memory it reads or writes.
	Accesses []Access
}

// Access is what a statement of a rank reads or writes of one buffer.
type Access struct {
	Rank      int
	Stmt      hostir.Stmt // nil for the caller
	Iteration []int64
	Buffer    *float64 // tells buffers apart
	Elements  []int64  // of the buffer
	Writes    bool
}

// Events lists what all ranks do in two calls of a program, and what each event follows: it stands for all
// orders of execution at once. The events of a rank that stand on streams are in the order of issue. The
// program must be one whose statements each run on one rank or communicate. An error names what can
// never run.
func Events(nodes []int, p *hostir.Program) ([]Event, error) {
	m, err := newMachine(nodes, p)
	if err != nil {
		return nil, err
	}
	for range 2 {
		for _, r := range m.ranks {
			if err := r.call(r.blank(), false); err != nil {
				return nil, err
			}
		}
	}
	if err := m.match(); err != nil {
		return nil, err
	}
	m.joinTouches()
	after, all := m.tasks.Follows()
	if !all {
		return nil, m.deadlock()
	}
	list := m.tasks.Tasks()
	events := make([]Event, len(list))
	for i, t := range list {
		stmt, _ := t.What.(hostir.Stmt)
		events[i] = Event{Rank: t.Rank, Stmt: stmt, After: after[i]}
		m.notes[t].tell(&events[i])
	}
	return events, nil
}

// note is what is known of a task.
type note struct {
	stream    *tasks.Stream // that it stands on; nil: on none
	call      int
	iteration []int64
	touches   []touch
}

// tell adds to an event what is noted of its task, if anything is.
func (n *note) tell(e *Event) {
	if n == nil {
		return
	}
	e.Call, e.Iteration = n.call, n.iteration
	if n.stream != nil {
		e.Stream = n.stream.Name
	}
	for _, touch := range n.touches {
		e.Accesses = append(e.Accesses, touch.access())
	}
}

// touch is what a task reads or writes, for a statement of a rank.
type touch struct {
	rank      int
	stmt      hostir.Stmt
	iteration []int64
	view      *view
	writes    bool
}

// touches notes what a statement reads and writes in the iteration at hand.
func (r *rank) touches(s hostir.Stmt, reads []*view, writes ...*view) []touch {
	iteration := r.Iteration(r.Loops)
	list := make([]touch, 0, len(reads)+len(writes))
	for i, v := range slices.Concat(reads, writes) {
		if v != nil {
			list = append(list, touch{r.number, s, iteration, v, i >= len(reads)})
		}
	}
	return list
}

// sides leaves what a rank does to its buffers in a collective: of one with a root, only that has both
// sides.
func (p *part) sides() []touch {
	c, ok := p.stmt.(*hostir.Communication)
	if !ok || c.Root == nil || p.root == int64(slices.Index(p.team, p.rank.number)) {
		return p.touches
	}
	fromRoot := c.Type == hostir.BroadcastComm || c.Type == hostir.Scatter
	return slices.DeleteFunc(slices.Clone(p.touches), func(t touch) bool { return t.writes != fromRoot })
}

// joinTouches gives the tasks in which ranks meet, or use the memory of others, what all of them bring.
func (m *machine) joinTouches() {
	for _, meeting := range m.order {
		for _, p := range meeting.parts {
			n := m.notes[meeting.task]
			n.touches = append(n.touches, p.sides()...)
		}
	}
	for _, l := range m.transferOrder {
		for _, p := range []*part{l.owner, l.copier} {
			if p != nil && l.done != nil {
				n := m.notes[l.done]
				n.touches = append(n.touches, p.touches...)
			}
		}
	}
}

func (t touch) access() Access {
	a := Access{Rank: t.rank, Stmt: t.stmt, Iteration: t.iteration, Writes: t.writes, Elements: make([]int64, 0, t.view.Elements())}
	if len(t.view.data) > 0 {
		a.Buffer = &t.view.data[0]
	}
	t.view.each(func(at int64) { a.Elements = append(a.Elements, at) })
	return a
}

// blank is inputs of no meaning.
func (r *rank) blank() map[string]*Array {
	inputs := map[string]*Array{}
	for _, t := range r.machine.program.Tensors {
		if t.Role == hostir.Input && r.holds(t) {
			inputs[t.Name] = newBuffer(t).read()
		}
	}
	return inputs
}
