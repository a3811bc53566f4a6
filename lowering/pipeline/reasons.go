package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// Name describes the task by its operation and tensor: "matmul into C_s".
func (t *Task) Name() string {
	if what := hostir.Mentions(t.Stmt); len(what) > 0 {
		return hostir.Verb(t.Stmt) + " " + what[len(what)-1].Name
	}
	return hostir.Operation(t.Stmt)
}

// Number returns the index of the task in its graph.
func (t *Task) Number() int { return t.id }

// Resource names the resource that the task occupies: the caller's stream, a communicator, or the copy
// stream.
func (t *Task) Resource() string { return t.resource() }

// Reason explains the edge in words: "data: matmul into C_s (task 1) reads what allgather of A_all_s (task 0)
// writes".
func (e *Edge) Reason() string {
	does := "reads what %s writes"
	if e.Kind == Reuse {
		does = "writes what %s reads or writes before"
	}
	from := fmt.Sprintf("%s (task %d)", e.From.Name(), e.From.id)
	return fmt.Sprintf("%s: %s (task %d) ", e.Kind, e.To.Name(), e.To.id) + fmt.Sprintf(does, from) + e.Later()
}

// Later describes how many iterations lie between the two tasks: ", iterations before: 1". It is empty if
// they are in the same iteration.
func (e *Edge) Later() string { return distances(e.Distances) }

// mostReasons limits how many edges the reason of one wait names.
const mostReasons = 3

// reasons joins the reasons of some edges and additional reasons into one text.
func reasons(edges []*Edge, more ...string) string {
	var list []string
	for i, e := range edges {
		if i == mostReasons {
			list = append(list, fmt.Sprintf("and %d edges more", len(edges)-i))
			break
		}
		list = append(list, e.Reason())
	}
	return strings.Join(append(list, more...), "; ")
}

// crossing lists the edges that lead into some tasks from others or, with out, from them into others. It
// omits edges from transfers: a Wait ends a transfer, and that Wait has the edge as its reason.
func (o *overlap) crossing(tasks []*Task, out bool) []*Edge {
	var list []*Edge
	for _, t := range tasks {
		edges := o.graph.in[t.id]
		if out {
			edges = o.graph.out[t.id]
		}
		for _, e := range edges {
			other := e.From
			if out {
				other = e.To
			}
			if !e.From.IsTransfer() && !slices.Contains(tasks, other) {
				list = append(list, e)
			}
		}
	}
	return list
}

// explainTransfers records, for each transfer, the computations that it depends on: the stream that carries
// it waits for them.
func (o *overlap) explainTransfers() {
	for _, t := range o.graph.Tasks {
		if t.IsTransfer() {
			t.Stmt.Meta().Why = reasons(o.crossing([]*Task{t}, false))
		}
	}
}

// whyFork explains why a stream waits before some statements: their tasks depend on other tasks, and on the
// caller's work.
func (o *overlap) whyFork(body []hostir.Stmt) string {
	return reasons(o.crossing(o.tasks(body), false), "the caller's work before the call made its inputs, and may still read its outputs")
}

// whyCopies explains why the copy stream waits before transfers that are issued early.
func (o *overlap) whyCopies(early map[*Task]bool) string {
	var tasks []*Task
	for _, t := range o.graph.Tasks {
		if early[t] {
			tasks = append(tasks, t)
		}
	}
	return reasons(o.crossing(tasks, false), "earlier work of the caller, or the previous call, may use memory that transfers read or write")
}

// whyJoin explains why a stream waits after a loop: later tasks depend on its tasks, and the caller may use
// their results.
func (o *overlap) whyJoin(body []hostir.Stmt) string {
	tasks := o.tasks(body)
	var made []string
	for _, t := range tasks {
		for _, d := range hostir.Defs(t.Stmt) {
			for _, b := range hostir.Buffers(d) {
				if b.Role == hostir.Output && !slices.Contains(made, b.Name) {
					made = append(made, b.Name)
				}
			}
		}
	}
	var more []string
	if len(made) > 0 {
		more = append(more, "the caller may use "+strings.Join(made, ", ")+" after the call")
	}
	if why := reasons(o.crossing(tasks, true), more...); why != "" {
		return why
	}
	return "the caller's stream follows all that a call issues"
}

// Reasons for Waits that do not come from a single edge.
const (
	whyLast      = "nothing in the program follows %s: the caller may use its tensors after the call"
	whyReference = "the schedule keeps each Wait where its transfer is issued (joins: body)"
)

// explainKept sets the reason of each Wait that has none. Such a Wait stays where its transfer is issued.
func explainKept(body []hostir.Stmt) {
	for w := range hostir.Each[*hostir.Wait](body) {
		if w.Why == "" {
			w.Why = whyReference
		}
	}
}
