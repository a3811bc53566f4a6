package pipeline

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// order sorts the statements of a program into the order in which they are issued. It uses list scheduling by
// the longest path to the end, over the edges of the graph. Among the statements that can start, each resource
// (the caller's stream, a communicator, the copy stream) takes the one with the longest path after it. The
// duration of the statement itself does not count: a long GEMM with no dependents can be last, and hides
// transfers that other statements depend on. Ties go to the statement that takes longest, then to the first
// one in the program. So a transfer starts as soon as its data and its communicator are ready, and a statement
// that awaits the last transfer of a pipeline lets other work go first. A program without transfers keeps its
// order. All ranks have the same order.
//
// A resource that never idles while a statement can start may begin a long one just before the data of a more
// urgent one arrives. So order also tries to wait for such data, for different parts of the long statement's
// duration, and takes the order that ends first, if it ends clearly earlier (alike).
//
// The longest path ignores that transfers of one communicator wait for each other. For two chains of computation,
// transfer and computation, this rule runs the first computations of both chains before any transfer. So order also
// tries another rule: the statement after which a transfer can start soonest goes first.
//
// Cost: O((V+E) log V) for V statements and E edges, if few elements wait. Algorithm: list scheduling with
// critical-path priorities (Graham 1969; Kohler 1975), by the time after a statement (Jackson's rule for one
// machine with delivery times).
func (o *overlap) order(body []hostir.Stmt) []hostir.Stmt {
	list := o.elements(body)
	if !slices.ContainsFunc(list, func(e *element) bool { return e.onlyMoves() || e.awaits > 0 }) {
		return body
	}
	for _, e := range slices.Backward(list) {
		e.transfer = math.MaxInt64 / 2
		for _, next := range e.succs {
			e.path, e.transfer = max(e.path, next.awaits+next.path), min(e.transfer, next.transfer)
		}
		if e.onlyMoves() {
			e.transfer = -e.duration // the transfer itself
		}
		e.urgency, e.path, e.transfer = e.path, e.path+e.duration, e.transfer+e.duration
	}
	best := listSchedule(list, 0)
	try := func(patience float64) {
		if s := listSchedule(list, patience); float64(s.now)*alike < float64(best.now) {
			best = s
		}
	}
	for _, patience := range []float64{0.25, 0.5, 1} {
		try(patience)
	}
	for _, e := range list {
		e.urgency = -e.transfer
	}
	try(0)
	if slices.IsSortedFunc(best.issued, func(a, b *element) int { return a.at - b.at }) {
		return body
	}
	explain(best.issued)
	return o.named(body, best.issued)
}

// alike is the factor within which the durations of two orders count as equal, since durations are estimates.
const alike = 1.01

// listSchedule simulates a run. A resource may stay idle to wait for the data of a more urgent element. It waits
// at most for the fraction patience of the duration of the element that it could start.
func listSchedule(list []*element, patience float64) *listScheduling {
	s := &listScheduling{patience: patience, queues: map[string]*byPath{}, busy: map[string]bool{}}
	for _, e := range list {
		e.end = 0
		if e.left = len(e.preds); e.left == 0 {
			s.release(e)
		}
	}
	s.start()
	for s.running.Len() > 0 {
		done, _ := heap.Pop(&s.running).(*element)
		s.now = done.end
		if !done.ready {
			s.release(done)
			s.start()
			continue
		}
		s.busy[done.resource] = false
		for _, next := range done.succs {
			if next.left--; next.left == 0 {
				s.release(next)
			}
		}
		s.start()
	}
	return s
}

// explain adds a note to each transfer that is issued ahead of computations that originally precede it. The
// note names the longest of these computations, which hides the transfer. explain looks at the next 63 elements
// at most, and not beyond one that depends on the transfer.
func explain(issued []*element) {
	for i, e := range issued {
		var behind *element
		for _, next := range issued[i+1 : min(i+64, len(issued))] {
			if slices.Contains(e.succs, next) {
				break
			}
			if !next.onlyMoves() && next.at < e.at && (behind == nil || next.duration > behind.duration) {
				behind = next
			}
		}
		if e.onlyMoves() && behind != nil && !behind.longest().IsTransfer() {
			work := behind.longest().Stmt
			e.stmt.Meta().Note = issuedAhead + " the computation of " + hostir.Result(work).Name + " hides it"
		}
	}
}

// issuedAhead begins the notes of transfers that later work hides.
const issuedAhead = "issued ahead, so that"

// listScheduling is the state of a simulated run.
type listScheduling struct {
	now       int64              // ns since the start of the run
	patience  float64            // as in listSchedule
	queues    map[string]*byPath // resource -> elements that can start on it
	resources []string           // onCaller is last: a transfer also waits for all work issued to that stream before
	busy      map[string]bool
	running   byEnd      // elements that run, or that await a transfer
	issued    []*element // in the order of their starts
}

// release queues an element whose predecessors have ended. If the element awaits a transfer, release queues it
// once the transfer has arrived.
func (s *listScheduling) release(e *element) {
	if e.ready = e.awaits == 0 || e.end > 0; !e.ready {
		e.end = s.now + e.awaits
		heap.Push(&s.running, e)
		return
	}
	q := s.queues[e.resource]
	if q == nil {
		q = &byPath{}
		s.queues[e.resource] = q
		at := len(s.resources)
		if e.onlyMoves() && slices.Contains(s.resources, onCaller) {
			at = slices.Index(s.resources, onCaller)
		}
		s.resources = slices.Insert(s.resources, at, e.resource)
	}
	heap.Push(q, e)
}

// start begins, on every free resource, the element that next selects.
func (s *listScheduling) start() {
	for _, r := range s.resources {
		if s.busy[r] {
			continue
		}
		e := s.next(r)
		if e == nil {
			continue
		}
		e.end = s.now + e.duration
		s.busy[r] = true
		s.issued = append(s.issued, e)
		heap.Push(&s.running, e)
	}
}

// next removes from the queue of a resource the most urgent element that need not wait, and returns it. It
// returns nil if the queue is empty or all of its elements wait.
func (s *listScheduling) next(resource string) *element {
	q := s.queues[resource]
	var passed []*element
	for q.Len() > 0 {
		e, _ := heap.Pop(q).(*element)
		if !s.waits(e) {
			for _, p := range passed {
				heap.Push(q, p)
			}
			return e
		}
		passed = append(passed, e)
	}
	*q = append(*q, passed...)
	heap.Init(q)
	return nil
}

// waits reports whether an element should wait for a more urgent element of its resource. The last predecessor
// of the more urgent element must end soon: within the fraction patience of the duration of the waiting element.
func (s *listScheduling) waits(e *element) bool {
	limit := s.now + int64(s.patience*float64(e.duration))
	return slices.ContainsFunc(s.running.byPath, func(r *element) bool {
		return r.ready && r.end < limit && slices.ContainsFunc(r.succs, func(next *element) bool {
			return next.left == 1 && next.resource == e.resource && next.awaits == 0 && next.urgency > e.urgency
		})
	})
}

// named returns the issued statements, each after the statements that declare its memory. The other statements
// of the body are last. It adds each statement once.
func (o *overlap) named(body []hostir.Stmt, issued []*element) []hostir.Stmt {
	out, done := make([]hostir.Stmt, 0, len(body)), map[hostir.Stmt]bool{}
	emit := func(s hostir.Stmt) {
		if !done[s] {
			done[s] = true
			out = append(out, s)
		}
	}
	for _, e := range issued {
		for _, s := range e.names {
			emit(s)
		}
		emit(e.stmt)
	}
	for _, s := range body {
		emit(s)
	}
	return out
}

// byPath is a heap of elements. The most urgent one is first; of equally urgent ones, the one with the longest path.
type byPath []*element

func (q byPath) Len() int { return len(q) }
func (q byPath) Less(i, j int) bool {
	a, b := q[i], q[j]
	return cmp.Or(cmp.Compare(b.urgency, a.urgency), cmp.Compare(b.path, a.path), cmp.Compare(a.at, b.at)) < 0
}
func (q byPath) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push appends an *element; it is for container/heap.
func (q *byPath) Push(x any) { e, _ := x.(*element); *q = append(*q, e) }

// Pop removes the last element; it is for container/heap.
func (q *byPath) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

// byEnd is a heap of elements; the one that ends first is first.
type byEnd struct{ byPath }

func (q byEnd) Less(i, j int) bool {
	a, b := q.byPath[i], q.byPath[j]
	return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.at, b.at)) < 0
}
