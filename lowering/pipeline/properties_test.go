// Package pipeline_test holds ten properties of schedules on random specs, of 2 to 8 ranks; those that break one
// are made small. Properties 2 to 9 are here. Property 1, that each accepted schedule gives the result of
// the evaluator, is held by soak.Examine on the same kind of specs, after every pass, and by the tests of lowering
// that keep the result; property 10, on predictions, by those of cost, and for the cost of a graph by
// TestGraphOfManyTasks.
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

// instances finds the events in which instances of statements touch elements, in the first call.
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

// TestEdgesAreOverlaps is property 3: edges are what overlaps, up to reachability. Of two statements of
// a rank that touch an element, one of them writing, the later one follows the earlier one through edges; and no
// edge is between others. TestHistory has accesses of one buffer in any order, TestRuns has windows.
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

// overlaps are the instances of a sequential program that touch the same elements, found element by element.
type overlaps struct {
	list     []interp.Access // one of each instance, in an order of execution
	number   map[key]int
	conflict []map[int]bool // instance -> later ones that touch what it does
	reached  []map[int]bool // instance -> those that it follows by edges
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
			if e := f.sequential.Events[i]; isSum(e.Stmt) && a.Rank == e.Rank { // not what stands in it
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

// reach takes the closure of the edges.
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

// TestWaitsOrderWhatTouchesAnElement is property 4, first half: the waits that are derived have the closure of
// all edges. More than that, in no order of execution do two statements touch an element at the same time, one
// of them writing, be it on one rank, between ranks that share memory, or between two calls; and
// the caller's stream follows all work.
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

// The second half of property 4, that removing any wait is caught, is TestNoWaitIsImplied, and in lowering
// TestPointToPointNeedsItsWaits and those like it.

// TestIssueOrderFollowsEdges is property 6, first half: on each rank, what follows something by an edge is issued
// behind it. All ranks issue the same statements, since they run one program; that they meet in the same
// communications is what the interpreter asks for.
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

// issues numbers the instances of statements in the order in which a rank issues them, in the first call: where
// they stand, or where the group ends that they stand in.
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

// TestOneQueueIsEnough is property 7: no deadlock where each rank has one hardware queue, in which all streams
// and all communicators run in the order of issue. There is no circle among events, so that none waits for ever however
// long each of them takes.
func TestOneQueueIsEnough(t *testing.T) {
	holds(t, ofForms(func(f *form) error {
		if err := f.order.OnOneQueue(); err != nil {
			return fmt.Errorf("%w\n%s", err, text.Print(f.program))
		}
		return nil
	}))
}
