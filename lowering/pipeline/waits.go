package pipeline

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// placeWaits puts the Wait for each transfer before the first statement that depends on it, or before a loop or
// branch around that statement. If the Wait cannot be there, it follows the transfer directly (atOnce). If no
// statement depends on a transfer, its Wait is at the end of the program: from then on the caller may use its
// tensors. Then placeWaits removes redundant Synchronizes.
func (o *overlap) placeWaits(body []hostir.Stmt) []hostir.Stmt {
	w := &waits{overlap: o, places: map[*Task]*place{}, before: map[hostir.Stmt][]hostir.Stmt{}, behind: map[hostir.Stmt][]hostir.Stmt{}}
	w.find(body, nil)
	done := map[string]bool{}
	for _, t := range w.order {
		if handle := t.Handle(); t.IsTransfer() && !done[handle] {
			done[handle] = true
			w.wait(t)
		}
	}
	body = hostir.RewriteBlocks(body, w.insert)
	return o.withoutImplied(append(body, w.end...))
}

// place is the position of a statement in the scheduled program.
type place struct {
	number  int         // index of the task in the order of the scheduled program
	around  []frame     // the loops and branches around it, from the outermost one
	element hostir.Stmt // the statement, or the one that opens its group
	last    hostir.Stmt // the statement, or the one that closes its group
}

// frame is a loop, or one side of a branch.
type frame struct {
	stmt hostir.Stmt
	cond string // the condition of this side of the branch; empty for a loop
}

// loop returns the loop of the frame, or nil for a branch.
func (f frame) loop() *hostir.For {
	loop, _ := f.stmt.(*hostir.For)
	return loop
}

// waits finds a place for each Wait.
type waits struct {
	*overlap
	places         map[*Task]*place
	order          []*Task                       // in the order of the program
	before, behind map[hostir.Stmt][]hostir.Stmt // statement -> statements to insert directly before it, and after it
	end            []hostir.Stmt                 // statements to append to the program
}

// find records the places of all tasks.
func (w *waits) find(body []hostir.Stmt, around []frame) {
	var opens hostir.Stmt
	first := len(w.order)
	for _, s := range body {
		switch s := s.(type) {
		case *hostir.For:
			w.find(s.Body, append(slices.Clone(around), frame{stmt: s}))
		case *hostir.If:
			w.find(s.Body, append(slices.Clone(around), frame{s, s.Cond.String()}))
			w.find(s.Else, append(slices.Clone(around), frame{s, expr.Opposite(s.Cond).String()}))
		case *hostir.StartCoalescing:
			opens, first = s, len(w.order)
		case *hostir.EndCoalescing:
			for _, t := range w.order[first:] {
				w.places[t].last = s
			}
			opens = nil
		}
		if t := w.graph.of[s]; t != nil {
			p := &place{number: len(w.order), around: around, element: s, last: s}
			if opens != nil {
				p.element = opens
			}
			w.places[t], w.order = p, append(w.order, t)
			if t.Ahead != nil && w.places[t.Ahead.of] == nil {
				w.places[t.Ahead.of] = p // the original transfer is not in the program
			}
		}
	}
}

// wait places the Wait for a transfer.
func (w *waits) wait(t *Task) {
	stmt := &hostir.Wait{Info: hostir.InfoFrom(t.Stmt, ""), Handle: t.Handle()}
	if t.Ahead != nil {
		w.waitLater(stmt, t)
		return
	}
	if next := w.first(t, (*Edge).aligned); next != nil {
		w.put(stmt, t, next, len(t.Loops), t.Conds)
		return
	}
	if next := w.first(t, func(e *Edge) bool { return e.ahead() == 1 }); next != nil {
		if cond := w.inNextIteration(t); cond != nil {
			stmt.Iteration = &expr.Binary{Op: "-", X: expr.Var(t.Loops[0].Var), Y: expr.Int(1)}
			w.put(stmt, t, next, len(t.Loops), []expr.Expr{cond})
			return
		}
		w.atOnce(stmt, t, next)
		return
	}
	next := w.first(t, func(*Edge) bool { return true })
	switch {
	case next == nil:
		w.atEnd(stmt, t)
	case w.places[next.To].number < w.places[t].number:
		w.atOnce(stmt, t, next)
	default:
		w.put(stmt, t, next, common(t, next.To), t.Conds)
	}
}

// atOnce puts a Wait directly after its transfer. The Wait for a transfer that sets a ready flag goes after
// the copy of the same exchange, so that no two ranks wait for each other's copy.
func (w *waits) atOnce(stmt *hostir.Wait, t *Task, edge *Edge) {
	stmt.Why = edge.Reason()
	last := w.places[t].last
	if t.setsReady() {
		last = w.places[w.graph.of[t.Exchange.Copier()]].last
	}
	stmt.On = last.Meta().On
	w.behind[last] = append(w.behind[last], stmt)
}

// inNextIteration returns the condition under which an iteration can wait for the transfer of the previous one.
// It returns nil if an iteration before the last one has no transfer, or if the last one has a transfer, since
// no iteration would wait for that.
func (w *waits) inNextIteration(t *Task) expr.Expr {
	loop := t.Loops[0]
	end, exists := loop.Count.Size-1, true
	for _, cond := range t.Conds {
		if !w.always(cond, loop, loop.First, end) {
			return nil
		}
		exists = exists && w.always(cond, loop, end, end+1)
	}
	if exists {
		return nil
	}
	return &expr.Binary{Op: "!=", X: expr.Var(loop.Var), Y: expr.Int(loop.First)}
}

// first returns the edge from a transfer, or from its group, to the first dependent task in program order. It
// considers only edges that satisfy is, and returns nil if there are none.
func (w *waits) first(t *Task, is func(*Edge) bool) *Edge {
	var first *Edge
	for _, member := range w.members(t) {
		for _, e := range w.graph.out[member.id] {
			same := e.To == t || t.Group != nil && e.To.Group == t.Group
			if same || !is(e) {
				continue
			}
			if first == nil || w.places[e.To].number < w.places[first.To].number {
				first = e
			}
		}
	}
	return first
}

// atEnd puts a Wait after all statements.
func (w *waits) atEnd(stmt *hostir.Wait, t *Task) {
	stmt.Why = fmt.Sprintf(whyLast, t.Name())
	w.end = append(w.end, w.within(stmt, t, t.Conds, nil))
}

// put places a Wait after its transfer and before the target of an edge, under the given conditions. The Wait
// is inside at least the given number of the loops around the target. These loops have the same variables as
// the loops around the transfer.
func (w *waits) put(stmt *hostir.Wait, t *Task, edge *Edge, loops int, conds []expr.Expr) {
	next := edge.To
	stmt.Why = edge.Reason()
	here, to := w.places[t], w.places[next]
	depth := 0 // the Wait is inside to.around[:depth]: the frames around both tasks, or more
	for stmt.Iteration == nil && depth < len(here.around) && depth < len(to.around) && here.around[depth] == to.around[depth] {
		depth++
	}
	for i, f := range to.around {
		if f.loop() != nil && loops > 0 {
			loops--
			depth = max(depth, i+1)
		}
	}
	if stmt.Iteration == nil && w.leavesWorkBefore(t, next, depth) {
		depth++
	}
	element := to.element
	if depth < len(to.around) {
		element = to.around[depth].stmt
	}
	if forks := w.forks[element]; forks != nil {
		element = forks
	}
	stmt.On = w.streamAt(element)
	w.before[element] = append(w.before[element], w.within(stmt, t, conds, to.around[:depth]))
}

// streamAt returns the stream for a statement that is inserted before element.
func (w *waits) streamAt(element hostir.Stmt) hostir.StreamRef {
	on, ok := w.around[element]
	for s := range hostir.All([]hostir.Stmt{element}) {
		if !ok && len(hostir.Bodies(s)) == 0 {
			return s.Meta().On
		}
	}
	return on
}

// members lists the transfers that end together with t.
func (w *waits) members(t *Task) []*Task {
	if t.Group != nil {
		return w.graph.members[t.Group]
	}
	return []*Task{t}
}

// within wraps a Wait in conditions and in the loops of its transfer, except conditions and loops that are
// already around its position.
func (w *waits) within(stmt *hostir.Wait, t *Task, conds []expr.Expr, around []frame) hostir.Stmt {
	outer, given := map[string]*hostir.For{}, map[string]bool{}
	for _, f := range around {
		if loop := f.loop(); loop != nil {
			outer[loop.Var] = loop
		}
		given[f.cond] = true
	}
	inner := hostir.Stmt(stmt)
	for _, cond := range slices.Backward(conds) {
		if !given[cond.String()] && !w.holds(cond, outer) {
			inner = &hostir.If{Info: hostir.InfoFrom(stmt, ""), Cond: cond, Body: []hostir.Stmt{inner}}
		}
	}
	for _, loop := range slices.Backward(t.Loops) {
		if outer[loop.Var] == nil {
			list := &hostir.For{Info: hostir.InfoFrom(stmt, ""), Var: loop.Var, First: loop.First, Count: loop.Count, Body: []hostir.Stmt{inner}}
			w.trim(list)
			inner = list
		}
	}
	return inner
}

// holds reports whether a condition depends on the variable of one of the loops, and is true in all iterations
// of that loop.
func (w *waits) holds(cond expr.Expr, loops map[string]*hostir.For) bool {
	for _, loop := range loops {
		if expr.Mentions(cond, loop.Var) {
			return w.always(cond, loop, loop.First, loop.Count.Size)
		}
	}
	return false
}

// always reports whether a condition is true in the iterations first to end-1 of a loop.
func (w *waits) always(cond expr.Expr, loop *hostir.For, first, end int64) bool {
	for i := first; i < end; i++ {
		if holds, err := expr.Eval(cond, w.at(loop.Var, i)); err != nil || holds == 0 {
			return false
		}
	}
	return true
}
