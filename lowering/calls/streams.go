package calls

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// keepsStream reports whether every iteration of a loop leaves the stream current that it began
// with: it sets none, or goes back to the caller's, or to the compute stream of an iteration
// around the loop.
func (b *builder) keepsStream(s *hostir.For) bool {
	last, sets := lastStream(s.Body)
	switch {
	case !sets:
		return true
	case last.Index != nil:
		return !mentions(last.Index, s.Var) && b.current.Index != nil && b.computeIndex(last.Index).String() == b.current.Index.String()
	default:
		return last.Var != "" && b.current.Index == nil && b.streams[last.Var] == b.current && b.current != Stream{}
	}
}

// lastStream gives the stream that a list of statements leaves current, if it sets any. One that
// depends on the path taken has no name.
func lastStream(body []hostir.Stmt) (last hostir.StreamRef, sets bool) {
	for _, s := range slices.Backward(body) {
		switch s := s.(type) {
		case *hostir.SetCurrentStream:
			return s.Stream, true
		case *hostir.For:
			if last, sets := lastStream(s.Body); sets && s.First < s.Count.Size {
				return last, true
			}
		case *hostir.If:
			for _, side := range hostir.Bodies(s) {
				if _, sets := lastStream(*side); sets {
					return hostir.StreamRef{}, true
				}
			}
		}
	}
	return hostir.StreamRef{}, false
}

// streamOf finds a stream of the host IR.
func (b *builder) streamOf(s hostir.Stmt, r hostir.StreamRef) (Stream, error) {
	if r.Var == hostir.CopyStream {
		return Stream{Name: Copies}, nil
	}
	if r.Index == nil {
		on, ok := b.streams[r.Var]
		if !ok {
			return Stream{}, internalError(s.Meta().Pos, s.Op(), "no stream is named %s", r.Var)
		}
		return on, nil
	}
	b.out.Streams = b.program.Streams
	return Stream{Index: b.computeIndex(r.Index)}, nil
}

// computeIndex is the index of a compute stream; their number goes by its name.
func (b *builder) computeIndex(e expr.Expr) expr.Expr {
	if m, ok := e.(*expr.Binary); ok && m.Op == "%" && m.Y == expr.Int(b.program.Streams) {
		if b.program.Streams == 1 {
			return expr.Int(0)
		}
		e = &expr.Binary{Op: "%", X: m.X, Y: expr.Var(StreamCount)}
	}
	return b.index(e)
}

// StreamCount is the constant that holds the number of compute streams.
const StreamCount = "kComputeStreams"

// stream is the stream that a statement runs on.
func (b *builder) stream(s hostir.Stmt) (Stream, error) {
	if b.current == (Stream{}) {
		return b.current, internalError(s.Meta().Pos, s.Op(), "the stream that it runs on depends on the path taken")
	}
	return b.current, nil
}

// setCurrentStream notes what the statements that follow run on.
func (b *builder) setCurrentStream(s *hostir.SetCurrentStream) (list []Stmt, err error) {
	b.current, err = b.streamOf(s, s.Stream)
	return nil, err
}

// synchronize orders the current stream behind another one. An event is recorded and
// waited for at once, so one event per stream that is recorded is enough.
func (b *builder) synchronize(s *hostir.Synchronize) ([]Stmt, error) {
	from, err := b.streamOf(s, s.Stream)
	if err != nil {
		return nil, err
	}
	to, err := b.stream(s)
	if err != nil {
		return nil, err
	}
	words := "Synchronize(" + s.Stream.String() + ")"
	label, count, index := "started", number(1), expr.Expr(expr.Int(0))
	switch {
	case from.Index != nil:
		label, count, index = "joined", quantity{expr.Var(StreamCount), int64(b.program.Streams)}, from.Index
	case from.Name == Copies:
		label = "copied"
	}
	info := b.info(s, label, words)
	return order(info, Event{b.events(label, count, info.Label), index}, from, to), nil
}

// order makes stream to wait for what was issued to from.
func order(info Info, e Event, from, to Stream) []Stmt {
	return []Stmt{&EventRecord{Info: info, Event: e, On: from}, &StreamWait{Info: info, Event: e, On: to}}
}

// events declares the events of one statement.
func (b *builder) events(label string, count quantity, where string) string {
	name := b.names.member(label)
	b.out.Events = append(b.out.Events, &Events{name, strings.TrimSuffix(name, "_"), count.expr, where})
	return name
}

// iterations bounds the number that iteration gives the runs of the statement at hand in a
// call. Loops that leave out iteration 0 leave out numbers.
func (b *builder) iterations() quantity {
	count := number(1)
	for _, l := range b.loops {
		count = times(count, l.count)
	}
	return count
}

// runs is how often the statement at hand runs in a call.
func (b *builder) runs() quantity {
	count := number(1)
	for _, l := range b.loops {
		count = times(count, l.runs)
	}
	return count
}

// less is a count without the first iterations. "D + 1" without one is "D".
func less(count quantity, first int64) quantity {
	sum, ok := count.expr.(*expr.Binary)
	switch {
	case first == 0:
		return count
	case ok && sum.Op == "+" && sum.Y == expr.Int(first):
		return quantity{sum.X, count.size - first}
	default:
		return quantity{&expr.Binary{Op: "-", X: count.expr, Y: expr.Int(first)}, count.size - first}
	}
}

// iteration numbers the runs of a statement inside the given loops, row-major.
func iteration(loops []loop) expr.Expr {
	var index expr.Expr = expr.Int(0)
	for i, l := range loops {
		if i == 0 {
			index = l.iteration()
			continue
		}
		scaled := &expr.Binary{Op: "*", X: index, Y: l.count.expr}
		index = &expr.Binary{Op: "+", X: scaled, Y: l.iteration()}
	}
	return index
}

// sameIteration is the number that a statement in the given loops gave the iteration at hand,
// which may stand in other loops over the same variables.
func (b *builder) sameIteration(loops []loop) expr.Expr {
	same := slices.Clone(loops)
	for i := range same {
		same[i].name, same[i].at = b.loops[i].name, b.loops[i].at
	}
	return iteration(same)
}
