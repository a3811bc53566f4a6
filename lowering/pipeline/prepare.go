package pipeline

import (
	"maps"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// prepared finds the collectives of a loop that have lead: all and meet two conditions. They depend on local
// work in the loop, such as a norm or a copy, and they depend on no GEMM or transfer in the loop. The set
// contains these collectives and that work, which are issued in a separate loop before the rest. A communicator
// runs its operations in the order of issue. In a single loop, the gather of slice s+1 would run after the
// reduce-scatter of slice s, and no GEMM would hide it. prepared returns nil with joins: body, or if the rest of
// the loop does not use the same communicator.
//
//	before: For s: V_s = Unary(X_s); gather(V_s); P_s = Matmul(V_all_s, W); reduce_scatter(P_s)
//	after:  For s: V_s = Unary(X_s); gather(V_s)
//	        For s: P_s = Matmul(V_all_s, W); reduce_scatter(P_s)
func (o *overlap) prepared(loop *hostir.For) map[*Task]bool {
	if o.reference {
		return nil
	}
	tasks, inside, ahead := o.tasks(loop.Body), map[*Task]bool{}, map[*Task]bool{}
	for _, t := range tasks {
		inside[t] = true
		if t.Ahead != nil {
			inside[t.Ahead.of] = true // this loop issues it, too, for later iterations
		}
	}
	for _, t := range tasks {
		if work := map[*Task]bool{}; o.lead(t) == unbounded && isCollective(t) && o.prepares(t, inside, work) && len(work) > 1 {
			for w := range work {
				ahead[w] = true
			}
		}
	}
	for t := range ahead {
		if isCollective(t) && slices.ContainsFunc(tasks, func(other *Task) bool {
			return !ahead[other] && other.IsTransfer() && other.resource() == t.resource()
		}) {
			maps.Copy(o.led, ahead)
			return ahead
		}
	}
	return nil
}

// prepares adds to work a task and the tasks of inside that it depends on. It reports whether these tasks of
// inside are local work without GEMMs.
func (o *overlap) prepares(t *Task, inside, work map[*Task]bool) bool {
	if work[t] {
		return true
	}
	work[t] = true
	return !slices.ContainsFunc(o.graph.in[t.id], func(e *Edge) bool {
		return inside[e.From] && (e.From.IsTransfer() || hostir.IsGEMM(e.From.Stmt) || !o.prepares(e.From, inside, work))
	})
}

func isCollective(t *Task) bool {
	return hostir.Is[*hostir.Communication](t.Stmt) && t.Group == nil
}
