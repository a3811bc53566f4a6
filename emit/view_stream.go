package emit

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A streamRef is what is known of the current stream where a statement stands.
type streamRef struct {
	text   string // C++; empty when it depends on the path taken
	worker string // C++ index of a worker stream; empty for the caller's
}

var (
	callersStream = streamRef{text: "caller"}
	unknownStream = streamRef{}
)

// join is what is known after two paths meet.
func (r streamRef) join(o streamRef) streamRef {
	if r == o {
		return r
	}
	return unknownStream
}

// outside is what is known of r behind a loop: the index of a worker may have been
// computed from the loop's variable.
func (r streamRef) outside() streamRef {
	if r.worker != "" {
		return unknownStream
	}
	return r
}

// keepsStream reports whether every iteration of a loop leaves the stream current that it began
// with: it sets none, or goes back to the caller's, or to the worker of an iteration around the loop.
func (b *builder) keepsStream(s *hostir.For) bool {
	last, sets := lastStream(s.Body)
	switch {
	case !sets:
		return true
	case last.Index != nil:
		return !mentions(last.Index, s.Var) && b.current.worker != "" && b.workerIndex(last.Index) == b.current.worker
	default:
		return last.Var != "" && b.current.text == b.streams[last.Var]
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

// stream prints a stream of the host IR.
func (b *builder) stream(s hostir.Stmt, r hostir.StreamRef) (streamRef, error) {
	if r.Var == hostir.CopyStream {
		return streamRef{text: b.peers() + ".copies()"}, nil
	}
	if r.Index == nil {
		name, ok := b.streams[r.Var]
		if !ok {
			return unknownStream, internalError(s.Meta().Pos, s.Op(), "no stream is named %s", r.Var)
		}
		return streamRef{text: name}, nil
	}
	index := b.workerIndex(r.Index)
	b.view.Workers = b.program.Streams
	return streamRef{text: "workers_[" + index + "]", worker: index}, nil
}

// workerIndex prints the index of a worker; the number of streams goes by its name.
func (b *builder) workerIndex(e expr.Expr) string {
	if m, ok := e.(*expr.Binary); ok && m.Op == "%" && m.Y == expr.Int(b.program.Streams) {
		e = &expr.Binary{Op: "%", X: m.X, Y: expr.Var("kStreams")}
	}
	return b.index(e)
}

// getCurrentStream names the current stream. Where it is the caller's, run() has a
// name for it already.
func (b *builder) getCurrentStream(s *hostir.GetCurrentStream) ([]node, error) {
	if b.current == callersStream {
		b.streams[s.Var] = "caller"
		return nil, nil
	}
	n := &currentNode{source: b.source(s), Name: b.names.local(s.Var)}
	b.streams[s.Var] = n.Name
	return []node{n}, nil
}

// setCurrentStream switches streams.
func (b *builder) setCurrentStream(s *hostir.SetCurrentStream) ([]node, error) {
	ref, err := b.stream(s, s.Stream)
	if err != nil {
		return nil, err
	}
	b.current = ref
	return []node{&setStreamNode{b.source(s), ref.text}}, nil
}

// synchronize orders the current stream behind another one. An event is recorded and
// waited for at once, so one event per stream that is recorded is enough.
func (b *builder) synchronize(s *hostir.Synchronize) ([]node, error) {
	ref, err := b.stream(s, s.Stream)
	if err != nil {
		return nil, err
	}
	if ref.worker == "" {
		src := b.located(s, ref.text+"_ready", "Synchronize("+s.Stream.String()+")")
		events := b.events(ref.text+"_ready", number(1), src.Where)
		return []node{&orderNode{src, events + "[0]", ref.text, "stream"}}, nil
	}
	src := b.located(s, "worker_done", "Synchronize("+s.Stream.String()+")")
	workers := quantity{expr.Var("kStreams"), int64(b.program.Streams)}
	events := b.events("worker_done", workers, src.Where)
	return []node{&orderNode{src, fmt.Sprintf("%s[%s]", events, ref.worker), ref.text, "stream"}}, nil
}

// events declares the events of one statement.
func (b *builder) events(label string, count quantity, where string) string {
	name := b.names.member(label)
	b.view.Events = append(b.view.Events, &eventsMember{name, label, count.String(), where})
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
