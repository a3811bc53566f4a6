package pipeline

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Ahead describes a transfer that is issued some iterations before the iteration whose data it moves.
type Ahead struct {
	of *Task // the original transfer, which moves the data in its own iteration
	by int64 // number of iterations
}

// ahead is a loop with the transfers that are issued some iterations ahead.
type ahead struct {
	before []hostir.Stmt // transfers of the first iterations
	loop   *hostir.For   // the loop, whose iterations issue the other transfers
	copied []hostir.Stmt // statements of the loop for the copy stream: transfers over CUDA IPC, and what these need
}

// ahead issues transfers of a loop some iterations early, fewer than the loop has. sets maps the number of
// iterations to these transfers. The transfers of the first iterations are issued before the loop, on the
// stream of the list (on). Each iteration begins with the transfers of a later iteration, on its own stream
// (runs). These transfers wait for the earlier work of that stream, which limits how many of them are in flight.
// Copies over CUDA IPC run on the copy stream, which waits for the stream of the iteration. The loop stays
// unchanged if an iteration has no computation to issue transfers ahead of.
//
//	before: For s in S: gather(s); Wait(gather); C_s = Matmul(A_all_s, B)
//
//	after:  For s in 1: gather(s)
//	        For s in S: (If s < S - 1: gather_ahead(s + 1)); (Wait for gather(s)); C_s = Matmul(A_all_s, B)
func (o *overlap) ahead(sets map[int64]map[*Task]bool, loop *hostir.For, on, runs hostir.StreamRef) *ahead {
	a := &ahead{loop: loop}
	if len(sets) == 0 {
		return a
	}
	rest := o.part(loop, func(t *Task) bool {
		return !slices.ContainsFunc(slices.Collect(maps.Values(sets)), func(set map[*Task]bool) bool { return set[t] })
	})
	if rest == nil || !o.computes(rest.Body) {
		return a
	}
	parts := map[int64]*hostir.For{}
	for by, set := range sets {
		parts[by] = o.part(loop, func(t *Task) bool { return set[t] })
		if rest.Count.Size+by < parts[by].Count.Size {
			return a // some iterations have no computation to issue transfers ahead of
		}
	}
	a.loop = rest
	var front []hostir.Stmt
	for _, by := range slices.Sorted(maps.Keys(sets)) {
		part, first := parts[by], *loop
		first.First, first.Count = part.First, part.Count
		if end := rest.First + by; end < part.Count.Size {
			first.Count = domain.Extent{Size: end}
			front = append(front, o.later(a, part, by, runs)...)
		}
		if first.First < first.Count.Size {
			a.before = append(a.before, o.issue(&first, sets[by], on, "the first iterations", true)...)
		}
		for t := range sets[by] {
			t.Conds = append(slices.Clone(t.Conds), among(loop.Var, "<", rest.First+by))
		}
		maps.Copy(o.led, sets[by])
	}
	rest.Body = append(front, rest.Body...)
	return a
}

// leading finds the transfers of an outermost loop that are issued some iterations ahead, grouped by the number
// of iterations. A transfer qualifies only if all transfers that together lists have this lead and the edges
// allow it. None of these transfers may be isLate.
func (o *overlap) leading(loop *hostir.For) map[int64]map[*Task]bool {
	sets := map[int64]map[*Task]bool{}
	for _, t := range o.graph.inside[loop] {
		by := o.lead(t)
		if t.Loops[0] != loop || by == 0 || by >= loop.Count.Size-loop.First {
			continue
		}
		if slices.ContainsFunc(o.together(t), func(t *Task) bool {
			return t == nil || o.lead(t) != by || o.most(t, loop) < by || o.isLate(t, loop)
		}) {
			continue
		}
		if sets[by] == nil {
			sets[by] = map[*Task]bool{}
		}
		sets[by][t] = true
	}
	return sets
}

// together lists a transfer, the other transfers of its group, and both sides of its copy over CUDA IPC. A side
// inside a PeerReadSum is nil, because it has no task.
func (o *overlap) together(t *Task) []*Task {
	list := []*Task{t}
	if t.Group != nil {
		list = o.graph.members[t.Group]
	}
	if t.Exchange != nil {
		list = append(slices.Clone(list), o.graph.of[t.Exchange.Send], o.graph.of[t.Exchange.Recv])
	}
	return list
}

// isLate reports whether tasks of a loop depend on a transfer, and all of them are in later iterations.
func (o *overlap) isLate(t *Task, loop *hostir.For) bool {
	late := false
	for _, e := range o.graph.out[t.id] {
		switch {
		case e.To == t || !slices.Contains(e.To.Loops, loop):
		case e.Distances[0][0] == 0:
			return false
		default:
			late = true
		}
	}
	return late
}

// later rewrites part, the transfers of a loop, so that each iteration issues the transfers of a later one; by
// is the distance in iterations. Branches around them skip iterations that have no such transfers. later
// returns the statements, and adds the statements for the copy stream to a.copied.
func (o *overlap) later(a *ahead, part *hostir.For, by int64, runs hostir.StreamRef) []hostir.Stmt {
	v := part.Var
	part.Body = newShift(o, v, by).list(part.Body)
	body := part.Body
	var conds []expr.Expr
	if end := part.Count.Size - by; end < a.loop.Count.Size {
		limit := expr.Expr(expr.Int(end))
		if count, err := expr.Parse(part.Count.Text); err == nil {
			limit = expr.Fold(&expr.Binary{Op: "-", X: count, Y: expr.Int(by)})
		}
		conds = append(conds, &expr.Binary{Op: "<", X: expr.Var(v), Y: limit})
	}
	if first := part.First - by; first > a.loop.First {
		conds = append(conds, among(v, ">=", first))
	}
	for _, t := range o.tasks(body) {
		t.Loops = append([]*hostir.For{a.loop}, t.Loops[1:]...)
		own := slices.DeleteFunc(t.Conds, func(c expr.Expr) bool { return o.implies(conds, c, a.loop) })
		t.Conds = append(slices.Clone(conds), own...)
	}
	hostir.RunOn(runs, body...)
	copies := hostir.Any(body, func(s hostir.Stmt) bool { return o.graph.of[s] != nil && o.graph.of[s].Exchange != nil })
	for s := range hostir.All(body) {
		if t := o.graph.of[s]; copies && (hostir.Is[*hostir.ShareMemHandles](s) || t != nil && t.Exchange != nil) {
			a.copied = append(a.copied, s)
		}
	}
	for _, cond := range slices.Backward(conds) {
		body = []hostir.Stmt{&hostir.If{Info: hostir.InfoFrom(part, ""), Cond: cond, Body: body}}
	}
	body[0].Meta().Note = fmt.Sprintf("what moves is issued ahead, by %d", by)
	if copies {
		queue := follows(hostir.StreamRef{Copies: true}, runs, hostir.InfoFrom(part, "what is copied ahead follows what this iteration does"),
			o.whyFork(body))
		a.copied = append(a.copied, queue)
		body = append([]hostir.Stmt{queue}, body...)
	}
	return body
}

// implies reports whether a condition is true in all iterations of a loop in which the other conditions are
// true.
func (j *Projector) implies(others []expr.Expr, cond expr.Expr, loop *hostir.For) bool {
	for i := loop.First; i < loop.Count.Size; i++ {
		holds, err := expr.Eval(cond, j.at(loop.Var, i))
		excluded := slices.ContainsFunc(others, func(other expr.Expr) bool {
			value, err := expr.Eval(other, j.at(loop.Var, i))
			return err == nil && value == 0
		})
		if !excluded && (err != nil || holds == 0) {
			return false
		}
	}
	return true
}

// among returns the comparison of a loop variable with a number.
func among(variable, op string, n int64) expr.Expr {
	return &expr.Binary{Op: op, X: expr.Var(variable), Y: expr.Int(n)}
}

// waitLater places the Wait for a transfer that was issued ahead. The Wait goes before the first task that depends
// on the transfer, or to the end of the program if there is none.
func (w *waits) waitLater(stmt *hostir.Wait, t *Task) {
	of := t.Ahead.of
	next, loops := w.first(of, (*Edge).aligned), len(of.Loops)
	if next == nil {
		next = w.first(of, func(e *Edge) bool { return common(e.From, e.To) > 0 && e.Distances[0][0] == 0 })
		loops = 1
	}
	if next == nil {
		if next = w.first(of, func(*Edge) bool { return true }); next == nil {
			w.atEnd(stmt, t)
		} else {
			w.put(stmt, t, next, 0, t.Conds)
		}
		return
	}
	conds, first := slices.Clone(of.Conds[:len(of.Conds)-1]), of.Conds[len(of.Conds)-1]
	if behind := expr.Opposite(first); !w.implies(conds, behind, t.Loops[0]) {
		conds = append(conds, behind)
	}
	stmt.Iteration = &expr.Binary{Op: "-", X: expr.Var(t.Loops[0].Var), Y: expr.Int(t.Ahead.by)}
	w.put(stmt, t, next, loops, conds)
}
