// Package pipeline_test tests properties of schedules on specs of 2 to 8 ranks, most of them random. It shrinks a
// random spec that breaks a property. There are ten properties. This package tests 2 to 9, and the second half of 10.
// Property 1 is that each accepted schedule computes the result of the evaluator: soak.Examine tests it on such specs,
// after every pass, and so do tests of lowering. Property 10 is about predictions, which package cost tests, and about
// the time to build a graph, which TestGraphOfManyTasks tests.
package pipeline_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/interp"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/lowering/pipeline"
)

// key names an instance of a statement, in the first call of a program.
type key struct {
	rank      int
	stmt      hostir.Stmt
	iteration string
}

func keyOf(i pipeline.Instance) key { return key{i.Rank, i.Stmt, fmt.Sprint(i.Iteration)} }

// instances maps each instance of a statement to the index of an event with its accesses, in the first call.
func instances(h *lowertest.HappensBefore) map[key]int {
	found := map[key]int{}
	for i, e := range h.Events {
		for _, a := range e.Accesses {
			if e.Call == 1 && a.Stmt != nil {
				found[key{a.Rank, a.Stmt, fmt.Sprint(a.Iteration)}] = i
			}
		}
	}
	return found
}

// TestEdgesAreOverlaps is property 3: of two statements of a rank that access an element, one of them writing, the later
// one follows the earlier one through edges. No edge connects other statements. TestHistory tests the same for random
// accesses of one buffer, and TestRuns tests windows.
func TestEdgesAreOverlaps(t *testing.T) {
	holds(t, ofForms(func(f *form) error {
		o := newOverlaps(f)
		for _, e := range f.edges {
			from, ok := o.number[keyOf(e.From)]
			to, ok2 := o.number[keyOf(e.To)]
			if ok && ok2 && !o.conflict[from][to] {
				return fmt.Errorf("%s does not overlap %s, and follows it", o.describe(to), o.describe(from))
			}
		}
		for from, list := range o.conflict {
			for to := range list {
				if !o.reached[to][from] {
					return fmt.Errorf("%s overlaps %s, and does not follow it", o.describe(to), o.describe(from))
				}
			}
		}
		return nil
	}))
}

// overlaps records which instances of a sequential program access the same elements, found element by element.
type overlaps struct {
	list     []interp.Access // one access of each instance, in an order of execution
	number   map[key]int
	conflict []map[int]bool // instance -> later instances that access one of its elements, if either writes
	reached  []map[int]bool // instance -> the instances that it follows through edges
}

func newOverlaps(f *form) *overlaps {
	o := &overlaps{number: map[key]int{}}
	type element struct {
		rank   int
		buffer *float64
		at     int64
	}
	type touch struct {
		by     int
		writes bool
	}
	history := map[element][]touch{}
	for _, i := range f.sequential.Sorted() {
		if f.sequential.Events[i].Call > 1 {
			continue
		}
		for _, a := range f.sequential.Events[i].Accesses {
			if a.Stmt == nil {
				continue
			}
			if e := f.sequential.Events[i]; isSum(e.Stmt) && a.Rank == e.Rank { // the sum, not a statement inside it
				a.Stmt, a.Iteration = e.Stmt, e.Iteration
			}
			k := key{a.Rank, a.Stmt, fmt.Sprint(a.Iteration)}
			by, known := o.number[k]
			if !known {
				by = len(o.list)
				o.number[k], o.list, o.conflict = by, append(o.list, a), append(o.conflict, map[int]bool{})
			}
			for _, at := range a.Elements {
				e := element{a.Rank, a.Buffer, at}
				for _, other := range history[e] {
					if other.by != by && (other.writes || a.Writes) {
						o.conflict[other.by][by] = true
					}
				}
				history[e] = append(history[e], touch{by, a.Writes})
			}
		}
	}
	o.reach(f.edges)
	return o
}

func isSum(s hostir.Stmt) bool {
	_, sums := s.(*hostir.PeerReadSum)
	return sums
}

// reach computes the transitive closure of the edges.
func (o *overlaps) reach(edges []pipeline.InstanceEdge) {
	in := make([][]int, len(o.list))
	for _, e := range edges {
		from, ok := o.number[keyOf(e.From)]
		to, ok2 := o.number[keyOf(e.To)]
		if ok && ok2 {
			in[to] = append(in[to], from)
		}
	}
	o.reached = make([]map[int]bool, len(o.list))
	var visit func(int) map[int]bool
	visit = func(to int) map[int]bool {
		if o.reached[to] == nil {
			o.reached[to] = map[int]bool{}
			for _, from := range in[to] {
				o.reached[to][from] = true
				for further := range visit(from) {
					o.reached[to][further] = true
				}
			}
		}
		return o.reached[to]
	}
	for to := range o.list {
		visit(to)
	}
}

func (o *overlaps) describe(i int) string {
	a := o.list[i]
	return fmt.Sprintf("%s (rank %d, iteration %v)", text.Statement(a.Stmt), a.Rank, a.Iteration)
}

// TestWaitsOrderWhatTouchesAnElement is the first half of property 4: the derived waits enforce all edges. Moreover, no
// two statements access an element at the same time, one of them writing, in any order of execution. This is true on
// one rank, between ranks that share memory, and between two calls. The caller's stream follows all work.
func TestWaitsOrderWhatTouchesAnElement(t *testing.T) {
	holds(t, ofForms(func(f *form) error {
		events := instances(f.order)
		for _, e := range f.edges {
			from, ok := events[keyOf(e.From)]
			to, ok2 := events[keyOf(e.To)]
			if ok && ok2 && from != to && !f.order.Follows(to, from) {
				return fmt.Errorf("%s does not follow %s\n%s", text.Statement(e.To.Stmt), text.Statement(e.From.Stmt), text.Print(f.program))
			}
		}
		if err := f.order.Race(); err != nil {
			return fmt.Errorf("%w\n%s", err, text.Print(f.program))
		}
		return nil
	}))
}

// The second half of property 4 is that tests detect the removal of any wait: see TestNoWaitIsImplied, and in package
// lowering TestPointToPointNeedsItsWaits and similar tests.

// TestIssueOrderFollowsEdges is the first half of property 6: on each rank, the end of an edge is issued after its
// beginning. All ranks issue their statements in the order of one program. The interpreter checks that they meet in the
// same communications.
func TestIssueOrderFollowsEdges(t *testing.T) {
	holds(t, ofForms(func(f *form) error {
		issued := issues(f)
		for _, e := range f.edges {
			from, ok := issued[keyOf(e.From)]
			to, ok2 := issued[keyOf(e.To)]
			if ok && ok2 && from > to {
				return fmt.Errorf("%s is issued before %s\n%s", text.Statement(e.To.Stmt), text.Statement(e.From.Stmt), text.Print(f.program))
			}
		}
		return nil
	}))
}

// issues numbers the instances of statements in the order in which a rank issues them, in the first call. Members of a
// group are issued at the end of the group.
func issues(f *form) map[key]int {
	members := map[hostir.Stmt][]hostir.Stmt{}
	hostir.RewriteBlocks(f.program.Body, func(list []hostir.Stmt) []hostir.Stmt {
		for i, s := range list {
			if _, opens := s.(*hostir.StartCoalescing); opens {
				group, end := hostir.Group(list[i+1:])
				members[end] = group
			}
		}
		return list
	})
	issued := map[key]int{}
	for i, e := range f.order.Events {
		if e.Stream == "" || e.Call > 1 || e.Stmt == nil {
			continue
		}
		for _, s := range slices.Concat(members[e.Stmt], []hostir.Stmt{e.Stmt}) {
			k := key{e.Rank, s, fmt.Sprint(e.Iteration)}
			if _, again := issued[k]; !again {
				issued[k] = i
			}
		}
	}
	return issued
}

// TestOneQueueIsEnough is property 7: no deadlock if each rank has only one hardware queue, in which all streams and
// communicators run in the order of issue. The events form no cycle, so none waits forever, however long each event takes.
func TestOneQueueIsEnough(t *testing.T) {
	holds(t, ofForms(func(f *form) error {
		if err := f.order.OnOneQueue(); err != nil {
			return fmt.Errorf("%w\n%s", err, text.Print(f.program))
		}
		return nil
	}))
}
