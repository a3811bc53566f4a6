package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// batchMemoryOperations merges adjacent operations of one kind on one stream into a MemOpBatch, where Joins allows it:
// writes of flags, waits for flags, or copies. Each operation takes microseconds of its stream, and a batch is one
// operation. A loop of such operations, with their events and declarations of names, counts as several operations. A
// single operation outside of a loop stays as it is.
//
//	For(var s, first 1, count D):             MemOpBatch(name ready_flags, use write, on copy):
//	  FlagWrite(..., joins driver, on copy) ->  For(var s, first 1, count D):
//	                                              FlagWrite(..., batch ready_flags)
//
// If copies wait for events of another stream, the copy stream waits for that stream once, before the batch. One event
// is recorded for the end of all copies or waits, after the batch.
func batchMemoryOperations(p *calls.Program) {
	b := &batcher{program: p, names: taken(p), copied: map[string]join{}, labels: map[*calls.MemOpBatch][]string{}}
	p.Body = b.list(p.Body)
	for s := range calls.All(p.Body) {
		if w, ok := s.(*calls.StreamWait); ok {
			if to, ok := b.copied[w.Event.Set]; ok {
				w.Event = calls.Event{Set: to.set, Index: outer(w.Event.Index, to.inner)}
			}
		}
		if joins := joinsOf(s); joins != nil {
			*joins = ""
		}
	}
	nameBatches(p, b.labels)
}

// batcher makes the batches of a program.
type batcher struct {
	program *calls.Program
	names   *names.Table
	loops   []*calls.For
	labels  map[*calls.MemOpBatch][]string // the labels of the operations in the batch
	copied  map[string]join                // by set of events recorded after copies: the event that replaces them
}

// join is an event that replaces events with more loops in their index; inner is the number of these additional loops.
type join struct {
	set   string
	inner int
}

// outer removes the innermost loops from the row-major index of an event. inner is their number.
func outer(index expr.Expr, inner int) expr.Expr {
	for ; inner > 0; inner-- {
		sum, ok := index.(*expr.Binary)
		if !ok || sum.Op != "+" {
			return expr.Int(0)
		}
		product, ok := sum.X.(*expr.Binary)
		if !ok || product.Op != "*" {
			return expr.Int(0)
		}
		index = product.X
	}
	return index
}

// list replaces runs of operations in a list of statements by batches.
func (b *batcher) list(body []calls.Stmt) []calls.Stmt {
	var out []calls.Stmt
	for len(body) > 0 {
		n, k := unit(body)
		end, several := n, calls.Is[*calls.For](body[0])
		for k != (kind{}) && end < len(body) {
			more, next := unit(body[end:])
			if next != k {
				break
			}
			end, several = end+more, true
		}
		run := body[:end]
		body = body[end:]
		if k != (kind{}) && several {
			out = append(out, b.batch(k, run)...)
			continue
		}
		for _, s := range run {
			b.inside(s)
		}
		out = append(out, run...)
	}
	return calls.MergeIfs(out)
}

// inside makes batches in the statements nested in a loop or a branch.
func (b *batcher) inside(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.For:
		b.loops = append(b.loops, s)
		s.Body = b.list(s.Body)
		b.loops = b.loops[:len(b.loops)-1]
	case *calls.If:
		s.Body, s.Else = b.list(s.Body), b.list(s.Else)
	}
}

// batchNames are the names of batches, by the Use of the MemOpBatch.
var batchNames = map[string]string{"write": "ready_flags", "wait": "done_flags", "copy": "copies"}

// batch merges a run of operations of one kind.
func (b *batcher) batch(k kind, run []calls.Stmt) []calls.Stmt {
	g := &gathering{b: b, guard: guardOf(run), batch: &calls.MemOpBatch{Name: b.names.Local(batchNames[k.use]), Use: k.use}}
	run[0].Meta().Note, g.batch.Note = "", run[0].Meta().Note
	g.batch.Body = g.strip(run)
	if k.use != "copy" { // copies keep their order
		g.batch.Body = mergeLoops(g.batch.Body)
	}
	list := slices.Concat(g.before, []calls.Stmt{g.batch})
	if g.after != nil {
		list = append(list, g.after)
	}
	if g.guard != "" {
		return []calls.Stmt{&calls.If{Guard: g.guard, Body: list}}
	}
	return list
}

// mergeLoops merges adjacent loops that have the same variable and iterations, and contain no Let.
func mergeLoops(body []calls.Stmt) (merged []calls.Stmt) {
	for _, s := range body {
		loop, last := mergeable(s), (*calls.For)(nil)
		if len(merged) > 0 {
			last = mergeable(merged[len(merged)-1])
		}
		if loop != nil && last != nil && last.Var == loop.Var && last.First == loop.First && last.Count.String() == loop.Count.String() {
			last.Body = append(last.Body, loop.Body...)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// mergeable returns a loop that contains no Let, or nil for other statements.
func mergeable(s calls.Stmt) *calls.For {
	loop, ok := s.(*calls.For)
	if !ok || calls.Any(loop.Body, calls.Is[*calls.Let]) {
		return nil
	}
	return loop
}

// guardOf returns the guard that is around all operations of a run, or an empty text. batch moves it around the batch.
func guardOf(run []calls.Stmt) string {
	var found []string
	var look func(body []calls.Stmt, under string)
	look = func(body []calls.Stmt, under string) {
		for _, s := range body {
			switch s := s.(type) {
			case *calls.For:
				look(s.Body, under)
			case *calls.If:
				if s.OnlyGuards() && under == "" {
					look(s.Body, s.Guard)
				} else {
					look(s.Body, under)
				}
			default:
				if joinsOf(s) != nil && !slices.Contains(found, under) {
					found = append(found, under)
				}
			}
		}
	}
	look(run, "")
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// gathering is a batch under construction.
type gathering struct {
	b      *batcher
	batch  *calls.MemOpBatch
	guard  string             // the guard around the batch
	before []calls.Stmt       // makes the copy stream wait before the batch
	after  *calls.EventRecord // records the end of the batch; nil: no record
	inner  int                // number of loops within the batch around the current statement
}

// strip turns statements into parts of the batch. It removes their records and waits.
func (g *gathering) strip(body []calls.Stmt) []calls.Stmt {
	var parts []calls.Stmt
	for i := 0; i < len(body); i++ {
		switch s := body[i].(type) {
		case *calls.EventRecord:
			if i+1 < len(body) && isWaitFor(body[i+1], s.Event) {
				i++
				if g.before == nil {
					e := g.b.once(s.Event.Set)
					g.before = calls.Order(s.Info, e, s.On, calls.Stream{Name: calls.Copies})
				}
				continue
			}
			g.over(s)
			continue
		case *calls.For:
			g.inner++
			s.Body = g.strip(s.Body)
			g.inner--
		case *calls.If:
			s.Body = g.strip(s.Body)
			if s.OnlyGuards() && s.Guard == g.guard {
				parts = append(parts, s.Body...)
				continue
			}
		case *calls.FlagWrite:
			g.join(&s.Info, &s.On, &s.Joins, &s.Batch)
			s.Kernel = false
		case *calls.FlagWait:
			g.join(&s.Info, &s.On, &s.Joins, &s.Batch)
			s.Kernel = false
		case *calls.Transfer:
			g.join(&s.Info, &s.On, &s.Joins, &s.Batch)
		}
		parts = append(parts, body[i])
	}
	return parts
}

// join makes an operation part of the batch. The batch gets the label of its first operation.
func (g *gathering) join(info *calls.Info, on *calls.Stream, joins, batch *string) {
	if g.batch.Label == "" {
		g.batch.Pos, g.batch.Label, g.batch.Why, g.batch.On = info.Pos, info.Label, info.Why, *on
	}
	g.batch.Kernel = g.batch.Kernel || *joins == calls.ByKernel
	if list := g.b.labels[g.batch]; !slices.Contains(list, info.Label) {
		g.b.labels[g.batch] = append(list, info.Label)
	}
	info.Label, *on, *joins, *batch = "", calls.Stream{}, "", g.batch.Name
}

// over keeps only the first record after an operation, as the record of the whole batch.
func (g *gathering) over(s *calls.EventRecord) {
	set := s.Event.Set
	if g.after == nil {
		g.after = s
		s.Event = g.b.once(set)
	}
	if g.batch.Use == "copy" {
		g.b.copied[set] = join{g.after.Event.Set, g.inner}
	}
}

// once returns an event of a set with one index for each iteration of the loops around the batch. It sets the number of
// events in the set to the number of these iterations.
func (b *batcher) once(set string) calls.Event {
	var index, count expr.Expr = expr.Int(0), expr.Int(1)
	for i, l := range b.loops {
		index = expr.Sum(&expr.Binary{Op: "*", X: index, Y: l.Count}, expr.Var(l.Var))
		if count = expr.Expr(&expr.Binary{Op: "*", X: count, Y: l.Count}); i == 0 {
			index, count = expr.Var(l.Var), l.Count
		}
	}
	for _, d := range b.program.Events {
		if d.Name == set {
			d.Count = count
		}
	}
	return calls.Event{Set: set, Index: index}
}
