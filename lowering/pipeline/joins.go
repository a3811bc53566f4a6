package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// withoutImplied leaves out the joins of loops that other waits imply: each iteration ends with a
// transfer, which follows all that the iteration issued to its stream, and the caller waits for that.
// A buffer that is freed behind the loop needs the join.
func (w *waits) withoutImplied(body []hostir.Stmt) []hostir.Stmt {
	if w.program.Choices.Get(schedule.Buffers) == schedule.Free {
		return body
	}
	return hostir.RewriteBlocks(body, func(list []hostir.Stmt) []hostir.Stmt {
		out := make([]hostir.Stmt, 0, len(list))
		for i, s := range list {
			var loop *hostir.For
			if i > 0 {
				loop, _ = list[i-1].(*hostir.For)
			}
			if join := w.joins[loop]; join == nil || join != s || !w.impliesJoin(loop) {
				out = append(out, s)
				continue
			}
			out = append(out, &hostir.SetCurrentStream{Info: hostir.InfoFrom(s, ""), Stream: w.caller})
		}
		return usedStreams(out)
	})
}

// everywhere reports whether a transfer takes place on all ranks, wherever their peers are: a Wait for it is
// nothing on others.
func (w *waits) everywhere(t *Task) bool {
	p, ok := t.Stmt.(*hostir.P2PCommunication)
	ranks := hostir.Ranks(t.Stmt)
	return (!ok || p.Reach == hostir.Anywhere) && (ranks == nil || len(ranks) == w.program.Meshes[0].Size())
}

// impliesJoin reports whether the caller follows a loop by waiting for its transfers.
func (w *waits) impliesJoin(loop *hostir.For) bool {
	last := loop.Body[len(loop.Body)-1]
	if !w.onCaller[hostir.Handle(last)] {
		return false
	}
	tasks := w.tasks(loop.Body)
	if !w.everywhere(tasks[len(tasks)-1]) {
		return false
	}
	return !slices.ContainsFunc(tasks, func(t *Task) bool {
		return t.Handle() != hostir.Handle(last) && slices.ContainsFunc(w.graph.out[t.id], func(e *Edge) bool {
			return !slices.Contains(tasks, e.To)
		})
	})
}
