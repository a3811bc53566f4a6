package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// element is a top-level statement of a program, with the statements in it: the unit of list scheduling.
type element struct {
	stmt         hostir.Stmt
	at           int           // index among the elements, in program order
	names        []hostir.Stmt // the statements that allocate its memory and, for a loop, name the caller's stream
	preds, succs []*element
	tasks        []*Task
	resource     string // the resource that it occupies: the caller's stream, a communicator or the copy stream
	duration     int64  // ns on its busiest resource, roughly
	awaits       int64  // ns from the end of its predecessors until the last transfer of a pipeline among them arrives; 0: none
	path         int64  // ns from its start to the end of the program, at least
	transfer     int64  // ns from its start to the start of the next transfer that depends on it, at least
	urgency      int64  // of the elements that can start, the one with the largest urgency starts first
	left         int    // predecessors that have not ended
	end          int64  // ns, in the simulated run: when the awaited transfer arrives, then when the element ends
	ready        bool   // the awaited transfer has arrived, or there is none
}

// onlyMoves reports whether an element consists of transfers on one communicator or on the copy stream.
func (e *element) onlyMoves() bool { return e.resource != onCaller }

// longest returns, of all computations of an element, the one whose instances together take the longest time.
// If the element only moves data, it returns a transfer.
func (e *element) longest() *Task {
	longest := e.tasks[0]
	for _, t := range e.tasks {
		if !t.IsTransfer() && (longest.IsTransfer() || t.duration()*t.count > longest.duration()*longest.count) {
			longest = t
		}
	}
	return longest
}

// onCaller is the resource of computations, and of elements that occupy several resources.
const onCaller = "caller"

// elements lists the elements of a program, connected by the order that edges require. Statements without
// tasks, such as an Allocate, are not elements. An Allocate moves with the statements that use its memory.
func (o *overlap) elements(body []hostir.Stmt) []*element {
	var list []*element
	b := &elementBuilder{overlap: o, of: map[hostir.Stmt]*element{}, makers: map[*hostir.Tensor]hostir.Stmt{}}
	for _, s := range body {
		if len(o.tasks([]hostir.Stmt{s})) == 0 {
			b.name(s)
			continue
		}
		e := &element{stmt: s, at: len(list)}
		list = append(list, e)
		b.fill(e)
	}
	b.connect(list)
	return list
}

// elementBuilder determines the memory, the resources and the dependencies of elements.
type elementBuilder struct {
	*overlap
	of     map[hostir.Stmt]*element       // statement -> the element that holds it
	makers map[*hostir.Tensor]hostir.Stmt // tensor -> its Allocate
	stream []hostir.Stmt                  // statements that name the caller's stream
}

// name records a statement that only declares something.
func (b *elementBuilder) name(s hostir.Stmt) {
	if hostir.Is[*hostir.GetCurrentStream](s) {
		b.stream = append(b.stream, s)
	}
	if a, ok := s.(*hostir.Allocate); ok {
		b.makers[a.Tensor] = s
	}
}

// fill sets the declarations (names), the tasks, the resource and the duration of an element.
func (b *elementBuilder) fill(e *element) {
	all := []hostir.Stmt{e.stmt}
	seen := map[hostir.Stmt]bool{}
	if hostir.Is[*hostir.For](e.stmt) {
		e.names = append(e.names, b.stream...)
	}
	for s := range hostir.All(all) {
		b.of[s] = e
		for _, t := range hostir.Mentions(s) {
			for _, buffer := range hostir.Buffers(t) {
				if made := b.makers[buffer]; made != nil && !seen[made] {
					seen[made] = true
					e.names = append(e.names, made)
				}
			}
		}
	}
	e.tasks = b.tasks(all)
	times := map[string]int64{}
	for _, t := range e.tasks {
		r := t.resource()
		times[r] += t.duration() * t.count
		e.duration = max(e.duration, times[r])
		if e.resource == "" {
			e.resource = r
		} else if e.resource != r {
			e.resource = onCaller // a loop of several kinds of work
		}
	}
}

// connect makes elements depend on each other as their tasks do, and sets the field awaits. An element that
// sets a ready flag precedes the copy of the same exchange, because the copy waits for the ready flag of a peer.
func (b *elementBuilder) connect(list []*element) {
	joined := map[[2]int]bool{}
	connect := func(from, to *element) {
		if from == nil || to == nil || from == to || joined[[2]int{from.at, to.at}] {
			return
		}
		joined[[2]int{from.at, to.at}] = true
		from.succs, to.preds = append(from.succs, to), append(to.preds, from)
	}
	for _, e := range list {
		for _, t := range e.tasks {
			for _, edge := range b.graph.in[t.id] {
				from := b.of[edge.From.Stmt]
				connect(from, e)
				if from != nil && from != e && from.resource == onCaller && b.outlasts(edge.From, from) {
					e.awaits = max(e.awaits, edge.From.arrival())
				}
			}
			if t.setsReady() {
				connect(e, b.of[t.Exchange.Copier()])
			}
		}
	}
	for _, e := range list {
		slices.SortFunc(e.succs, func(a, b *element) int { return a.at - b.at })
	}
}

// outlasts reports whether a task is a transfer that no computation in its element depends on.
func (b *elementBuilder) outlasts(t *Task, in *element) bool {
	return t.IsTransfer() && !slices.ContainsFunc(b.graph.out[t.id], func(e *Edge) bool { return !e.To.IsTransfer() && b.of[e.To.Stmt] == in })
}
