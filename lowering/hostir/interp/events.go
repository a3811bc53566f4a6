package interp

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// CallersStream is the name of the stream on which each call of a program begins and ends.
const CallersStream = "caller's stream"

// Event is a task of a program.
type Event struct {
	Rank      int         // -1 for meetings of ranks
	Stmt      hostir.Stmt // nil for the caller's work between calls
	Iteration []int64     // of the enclosing loops, outermost first
	// Stream is the name of the event's stream. The event follows the earlier events of this rank on the stream. Stream
	// is empty for meetings of ranks, and for tasks that represent only a done flag or a skipped transfer. Iteration is
	// then nil.
	Stream string
	Call   int   // number of the call, from 1; 0 for a task that represents only a done flag or a skipped transfer
	After  []int // indices of the events that this one directly follows
	// Accesses lists the elements that the event accesses, including elements in memory of other ranks.
	Accesses []Access
}

// Access is a read or write of one buffer by a statement of a rank.
type Access struct {
	Rank      int
	Stmt      hostir.Stmt // nil for the caller
	Iteration []int64
	Buffer    *float64 // address of the first element, which identifies the buffer; nil if it is empty
	Elements  []int64  // indices in the buffer
	Writes    bool
}

// Events lists the tasks of all ranks in two calls of a program, and the predecessors of each task. This describes all orders
// of execution at once. The events of a rank on streams are in the order of issue. Each statement of the program has to run on
// one rank or communicate. nodes is as in RunOn. Events returns an error if a rank never takes part in a communication, or never
// sets a flag that a peer waits for. It does not find tasks that wait for each other.
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

// note is the information about a task.
type note struct {
	stream    *tasks.Stream // the stream of the task; nil: none
	call      int
	iteration []int64
	touches   []touch
}

// tell copies a task's note, if it has one, to its event.
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

// touch is a read or write of elements by a task, on behalf of a statement of a rank.
type touch struct {
	rank      int
	stmt      hostir.Stmt
	iteration []int64
	view      *view
	writes    bool
}

// touches lists the reads and writes of a statement in the current iteration.
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

// sides lists the accesses of a rank in a communication. In a collective with a root, the other ranks only read or only
// write.
func (p *part) sides() []touch {
	c, ok := p.stmt.(*hostir.Communication)
	if !ok || c.Root == nil || p.root == int64(slices.Index(p.team, p.rank.number)) {
		return p.touches
	}
	reads, writes := c.Type.Row().Sides(false)
	return lists.Except(p.touches, func(t touch) bool { return t.writes && !writes || !t.writes && !reads })
}

// joinTouches adds the accesses of all participants to the tasks in which ranks meet, or access memory of other ranks.
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

// blank returns inputs full of NaN.
func (r *rank) blank() map[string]*Array {
	inputs := map[string]*Array{}
	for _, t := range r.machine.program.Tensors {
		if t.Role == hostir.Input && r.holds(t) {
			inputs[t.Name] = newBuffer(t).read()
		}
	}
	return inputs
}
