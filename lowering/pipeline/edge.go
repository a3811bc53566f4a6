package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// EdgeKind is the reason why one task depends on another.
type EdgeKind int

// The kinds of edges.
const (
	Data  EdgeKind = iota // To reads elements that From wrote
	Reuse                 // To writes elements that From read or wrote
)

// String returns the kind in one word.
func (k EdgeKind) String() string {
	if k == Data {
		return "data"
	}
	return "reuse"
}

// Edge is a dependence: instances of To run after instances of From. Both are in the same iteration of the
// loops around both tasks, or To is some iterations later.
type Edge struct {
	From, To *Task
	Kind     EdgeKind // Data if both kinds apply
	// Each element of Distances has one number for each loop around both tasks, outermost first: how many
	// iterations To is after From. The elements are sorted and distinct.
	Distances [][]int64
}

// Graph is a program as tasks, with the dependencies between them.
type Graph struct {
	Tasks []*Task
	Edges []*Edge

	in, out [][]*Edge // the edges that lead to a task and from it, by task
	of      map[hostir.Stmt]*Task
	inside  map[*hostir.For][]*Task             // the tasks in a loop
	members map[*hostir.EndCoalescing][]*Task   // the tasks of a group
	owners  map[*hostir.ShareMemHandles][]*Task // tasks that set the ready flags of the memory that a statement shares
}

// index builds the maps from statements, loops, groups and shared memory to tasks.
func (g *Graph) index() {
	g.of, g.inside = map[hostir.Stmt]*Task{}, map[*hostir.For][]*Task{}
	g.members, g.owners = map[*hostir.EndCoalescing][]*Task{}, map[*hostir.ShareMemHandles][]*Task{}
	for _, t := range g.Tasks {
		g.of[t.Stmt] = t
		for _, loop := range t.Loops {
			g.inside[loop] = append(g.inside[loop], t)
		}
		if t.Group != nil {
			g.members[t.Group] = append(g.members[t.Group], t)
		}
		if t.setsReady() {
			g.owners[t.Exchange.Shared] = append(g.owners[t.Exchange.Shared], t)
		}
	}
}

// common counts the loops around both tasks.
func common(a, b *Task) int {
	n := 0
	for n < len(a.Loops) && n < len(b.Loops) && a.Loops[n] == b.Loops[n] {
		n++
	}
	return n
}

// carriedBy reports whether the edge leads to another iteration of the loop over a variable. It is false if no
// loop around both tasks has this variable.
func (e *Edge) carriedBy(variable string) bool {
	for i := range common(e.From, e.To) {
		if e.From.Loops[i].Var == variable {
			return slices.ContainsFunc(e.Distances, func(d []int64) bool { return d[i] != 0 })
		}
	}
	return false
}

// aligned reports whether the edge stays in one iteration of all loops around From. It is false if one of
// these loops is not around To.
func (e *Edge) aligned() bool {
	return common(e.From, e.To) == len(e.From.Loops) && !slices.ContainsFunc(e.Distances, func(d []int64) bool {
		return slices.ContainsFunc(d, func(steps int64) bool { return steps != 0 })
	})
}

// ahead returns how many iterations of the outermost loop To runs after From. It returns 0 if the edge has
// several distances, leaves a loop around From, or leads to another iteration of an inner loop.
func (e *Edge) ahead() int64 {
	if common(e.From, e.To) != len(e.From.Loops) || len(e.Distances) != 1 {
		return 0
	}
	for _, steps := range e.Distances[0][1:] {
		if steps != 0 {
			return 0
		}
	}
	return e.Distances[0][0]
}

// String lists the tasks, one per line, each followed by the tasks that it depends on.
func (g *Graph) String() string {
	var b strings.Builder
	for _, t := range g.Tasks {
		fmt.Fprintf(&b, "%s\n", t)
		for _, e := range g.in[t.id] {
			fmt.Fprintf(&b, "  %s of %s%s\n", e.Kind, e.From, distances(e.Distances))
		}
	}
	return b.String()
}

// String describes a task by its number, its operation, the last tensor that it names and its position in the
// spec.
func (t *Task) String() string {
	name := ""
	if what := hostir.Mentions(t.Stmt); len(what) > 0 {
		name = " " + what[len(what)-1].Name
	}
	return fmt.Sprintf("%d %s%s @%d:%d", t.id, hostir.Operation(t.Stmt), name, t.Stmt.Meta().Pos.Line, t.Stmt.Meta().Pos.Col)
}

// distances formats the distances of an edge, except zero distances. It returns "" if no others are left.
func distances(list [][]int64) string {
	texts := make([]string, 0, len(list))
	for _, d := range list {
		if slices.ContainsFunc(d, func(steps int64) bool { return steps != 0 }) {
			texts = append(texts, strings.Trim(fmt.Sprint(d), "[]"))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return ", iterations before: " + strings.Join(texts, "; ")
}
