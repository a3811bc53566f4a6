package fromhost

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// streamOf translates a stream of the host IR to a stream of the calls.
func (b *builder) streamOf(r hostir.StreamRef) calls.Stream {
	switch {
	case r.Copies:
		return calls.Stream{Name: calls.Copies}
	case r.Index == nil:
		return calls.Stream{Name: calls.Caller}
	}
	b.out.Streams, b.pipelined = b.program.Streams, true
	return calls.Stream{Index: b.computeIndex(r.Index)}
}

// computeIndex translates the index of a compute stream. In an index modulo the number of compute streams, it uses the
// constant for this number. With one compute stream, such an index is 0.
func (b *builder) computeIndex(e expr.Expr) expr.Expr {
	if m, ok := e.(*expr.Binary); ok && m.Op == "%" && m.Y == expr.Int(b.program.Streams) {
		if b.program.Streams == 1 {
			return expr.Int(0)
		}
		e = &expr.Binary{Op: "%", X: m.X, Y: expr.Var(calls.StreamCount)}
	}
	return b.index(e)
}

// synchronize makes the stream of the statement wait for another stream. The wait directly follows the record of its
// event, so one event for each stream that records is enough, also in a loop.
func (b *builder) synchronize(s *hostir.Synchronize) []calls.Stmt {
	from := b.streamOf(s.Stream)
	words, label, count, index := "wait for the caller's stream", "started", extents.Number(1), expr.Expr(expr.Int(0))
	switch {
	case from.Index != nil:
		words, label = "wait for the compute streams", "joined"
		count, index = extents.Quantity{Expr: expr.Var(calls.StreamCount), Size: int64(b.program.Streams)}, from.Index
	case from.Name == calls.Copies:
		words, label = "wait for the copy stream", "copied"
	}
	if slices.ContainsFunc(b.out.Events, func(e *calls.Events) bool { return e.Label == label }) {
		label += "_" + b.spec.Makes(s)
	}
	info := b.info(s, label, words)
	return calls.Order(info, calls.Event{Set: b.events(label, count, info.Label), Index: index}, from, b.current)
}

// events declares the set of events of one statement, and returns its name. where is the statement's label.
func (b *builder) events(label string, count extents.Quantity, where string) string {
	name := b.names.Member(label)
	b.out.Events = append(b.out.Events, &calls.Events{Name: name, Label: strings.TrimSuffix(name, "_"), Count: count.Expr, Where: where})
	return name
}

// iterations returns an exclusive upper bound for the values of iteration in a call. It counts each loop from 0, also
// if the loop's first iteration has a higher number.
func (b *builder) iterations() extents.Quantity {
	count := extents.Number(1)
	for _, l := range b.loops {
		count = extents.Times(count, l.count)
	}
	return count
}

// runs returns how often the loops around the current statement run it in a call. It ignores conditions.
func (b *builder) runs() extents.Quantity {
	count := extents.Number(1)
	for _, l := range b.loops {
		count = extents.Times(count, l.runs)
	}
	return count
}

// less subtracts first from a count of iterations. It returns D for "D + 1" minus 1.
func less(count extents.Quantity, first int64) extents.Quantity {
	sum, ok := count.Expr.(*expr.Binary)
	switch {
	case first == 0:
		return count
	case ok && sum.Op == "+" && sum.Y == expr.Int(first):
		return extents.Quantity{Expr: sum.X, Size: count.Size - first}
	default:
		return extents.Quantity{Expr: &expr.Binary{Op: "-", X: count.Expr, Y: expr.Int(first)}, Size: count.Size - first}
	}
}

// iteration returns the row-major number of the current iteration of the given loops.
func iteration(loops []loop) expr.Expr {
	var index expr.Expr = expr.Int(0)
	for i, l := range loops {
		if i == 0 {
			index = l.iteration()
			continue
		}
		scaled := &expr.Binary{Op: "*", X: index, Y: l.count.Expr}
		index = &expr.Binary{Op: "+", X: scaled, Y: l.iteration()}
	}
	return index
}

// sameIteration returns the number that iteration gives for the current iteration of other loops with the same counts.
// The current statement's own loops, which b.loops lists, have the variables to use.
func (b *builder) sameIteration(loops []loop) expr.Expr {
	same := slices.Clone(loops)
	for i := range same {
		same[i].name, same[i].at = b.loops[i].name, b.loops[i].at
	}
	return iteration(same)
}
