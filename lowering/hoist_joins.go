package lowering

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// HoistJoins moves the joins of a pipeline, where the caller's stream waits for a
// worker, from the end of the work loop to a loop of their own after it.
//
// Requires: the work loop ends by going back to the caller's stream and joining.
// Establishes: the work loop of a pipeline leaves the caller's stream alone.
//
//	before: For s: ..., SetCurrentStream(caller), Synchronize(worker)
//	after:  For s: ...; For s: SetCurrentStream(caller), Synchronize(worker)
func HoistJoins(p *hostir.Program) error {
	if p.Choices.Get(schedule.Joins) != schedule.After {
		return nil
	}
	p.Body = hostir.RewriteBlocks(p.Body, func(body []hostir.Stmt) []hostir.Stmt {
		out := make([]hostir.Stmt, 0, len(body))
		for _, s := range body {
			out = append(out, s)
			if loop, ok := s.(*hostir.For); ok && endsInJoin(loop) {
				cut := len(loop.Body) - 2
				joins := loop.Body[cut:]
				loop.Body = loop.Body[:cut:cut]
				out = append(out, &hostir.For{
					Info: hostir.InfoFrom(joins[0], "the caller waits for every worker, after all work was issued"),
					Var:  loop.Var, First: loop.First, Count: loop.Count, Body: joins,
				})
				joins[1].Meta().Note = ""
			}
		}
		return out
	})
	return nil
}

// endsInJoin reports whether a loop does work on workers and joins them at its end.
func endsInJoin(loop *hostir.For) bool {
	n := len(loop.Body)
	if n < 3 {
		return false
	}
	back, ok := loop.Body[n-2].(*hostir.SetCurrentStream)
	join, ok2 := loop.Body[n-1].(*hostir.Synchronize)
	return ok && ok2 && back.Stream.Index == nil && join.Stream.Index != nil
}
