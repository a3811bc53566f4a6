package lowering

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// FuseForks moves the wait for the caller's stream from its own loop into the work
// loop. It is what sync: fused asks for, to show what the split costs: each wait
// then inherits the joins of the iterations before, and nothing overlaps.
//
// Requires: pipelines stand as a loop of forks and a loop of work.
// Establishes: a pipeline that joins in its body is one loop.
//
//	before: For s: SetCurrentStream(worker), Synchronize(caller); For s: SetCurrentStream(worker), ...
//	after:  For s: SetCurrentStream(worker), Synchronize(caller), ...
func FuseForks(p *hostir.Program) error {
	if p.Choices.Sync != "fused" {
		return nil
	}
	p.Body = hostir.RewriteBlocks(p.Body, func(body []hostir.Stmt) []hostir.Stmt {
		out := make([]hostir.Stmt, 0, len(body))
		for i, s := range body {
			if i+1 < len(body) && forkOf(s, body[i+1]) != nil {
				continue
			}
			if work, ok := s.(*hostir.For); ok && i > 0 {
				if wait := forkOf(body[i-1], work); wait != nil {
					wait.Note = "the worker waits for the caller, whatever that waits for by now"
					work.Body = append([]hostir.Stmt{work.Body[0], wait}, work.Body[1:]...)
				}
			}
			out = append(out, s)
		}
		return out
	})
	return nil
}

// forkOf gives the wait in loop a when a is the loop of forks of the work loop b, and
// nil otherwise.
func forkOf(a, b hostir.Stmt) *hostir.Synchronize {
	fork, ok := a.(*hostir.For)
	work, ok2 := b.(*hostir.For)
	if !ok || !ok2 || len(fork.Body) != 2 || len(work.Body) == 0 ||
		fork.First != work.First || fork.Count.Size != work.Count.Size || fork.Var != work.Var {
		return nil
	}
	set, ok := fork.Body[0].(*hostir.SetCurrentStream)
	wait, ok2 := fork.Body[1].(*hostir.Synchronize)
	first, ok3 := work.Body[0].(*hostir.SetCurrentStream)
	if !ok || !ok2 || !ok3 || wait.Stream.Index != nil || set.Stream.Index == nil ||
		set.Stream.String() != first.Stream.String() {
		return nil
	}
	return wait
}
