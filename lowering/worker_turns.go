package lowering

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// turns is a loop whose iterations take turns on the worker streams.
type turns struct {
	program  *hostir.Program
	caller   hostir.StreamRef
	variable string
	first    int64
	count    domain.Extent
}

func (t turns) worker() hostir.StreamRef {
	return hostir.StreamRef{Index: binary("%", expr.Var(t.variable), expr.Int(t.program.Streams))}
}

// forks is the loop in which the workers wait for the caller, for statement s of the work.
func (t turns) forks(s hostir.Stmt) *hostir.For {
	return &hostir.For{
		Info: info(s, "every worker waits for the caller, before the work: there it would inherit earlier joins"),
		Var:  t.variable, First: t.first, Count: t.count,
		Body: []hostir.Stmt{
			&hostir.SetCurrentStream{Info: info(s, ""), Stream: t.worker()},
			&hostir.Synchronize{Info: info(s, ""), Stream: t.caller},
		},
	}
}

// work puts an iteration, from statement first to last, on its worker stream, the second of which
// may have to let the first one start on every rank.
func (t turns) work(body []hostir.Stmt, first, last hostir.Stmt) []hostir.Stmt {
	list := []hostir.Stmt{&hostir.SetCurrentStream{Info: info(first, ""), Stream: t.worker()}}
	if microseconds := t.program.Choices.Delay; microseconds > 0 && t.program.Streams > 1 {
		list = append(list, &hostir.If{
			Info: info(first, "so that all ranks begin with the same product"),
			Cond: binary("==", expr.Var(t.variable), expr.Int(t.first+1)),
			Body: []hostir.Stmt{&hostir.Delay{Info: info(first, ""), Microseconds: int64(microseconds)}},
		})
	}
	return append(append(list, body...),
		&hostir.SetCurrentStream{Info: info(last, ""), Stream: t.caller},
		&hostir.Synchronize{Info: info(last, "the caller waits for this iteration"), Stream: t.worker()})
}
