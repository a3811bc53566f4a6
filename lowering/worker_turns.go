package lowering

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// The iterations of a pipeline take turns on the worker streams.

// onWorkers reports whether those of a pipeline do.
func (l *streamLowering) onWorkers(g *group) bool {
	return l.program.Streams > 0 && !g.atOnce() && !g.isRing() && !l.inOrder(g)
}

// forks is the loop in which the workers wait for the caller.
func (l *streamLowering) forks(g *group) *hostir.For {
	s := g.steps[0].stmt
	return &hostir.For{
		Info: hostir.InfoFrom(s, "every worker waits for the caller, before the work: there it would inherit earlier joins"),
		Var:  l.loop, First: l.firstStep(g), Count: l.steps(g),
		Body: []hostir.Stmt{
			&hostir.SetCurrentStream{Info: hostir.InfoFrom(s, ""), Stream: l.worker()},
			&hostir.Synchronize{Info: hostir.InfoFrom(s, ""), Stream: l.callerRef()},
		},
	}
}

// onWorker puts an iteration on its worker stream, the second of which may have to let the first one
// start on every rank.
func (l *streamLowering) onWorker(g *group, body []hostir.Stmt) []hostir.Stmt {
	first, last := g.steps[0].stmt, g.steps[len(g.steps)-1].stmt
	list := []hostir.Stmt{&hostir.SetCurrentStream{Info: hostir.InfoFrom(first, ""), Stream: l.worker()}}
	if microseconds := l.program.Choices.Delay; microseconds > 0 && l.program.Streams > 1 {
		list = append(list, &hostir.If{
			Info: hostir.InfoFrom(first, "so that all ranks begin with the same product"),
			Cond: binary("==", expr.Var(l.loop), expr.Int(l.firstStep(g)+1)),
			Body: []hostir.Stmt{&hostir.Delay{Info: hostir.InfoFrom(first, ""), Microseconds: int64(microseconds)}},
		})
	}
	return append(append(list, body...),
		&hostir.SetCurrentStream{Info: hostir.InfoFrom(last, ""), Stream: l.callerRef()},
		&hostir.Synchronize{Info: hostir.InfoFrom(last, "the caller waits for this iteration"), Stream: l.worker()})
}

func (l *streamLowering) worker() hostir.StreamRef { return workerOf(l.program, l.loop) }

func (l *streamLowering) callerRef() hostir.StreamRef { return hostir.StreamRef{Var: l.caller} }

// workerOf is the worker stream that an iteration of a loop has its turn on.
func workerOf(p *hostir.Program, variable string) hostir.StreamRef {
	return hostir.StreamRef{Index: binary("%", expr.Var(variable), expr.Int(p.Streams))}
}
