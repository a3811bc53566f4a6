package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// OverlapForced runs the pass as if transfers did not depend on local work in the same loop. It returns the number of
// edges that it removes.
func OverlapForced(p *hostir.Program) (int, error) {
	graph, err := Build(p)
	if err != nil {
		return 0, err
	}
	forced := 0
	for _, t := range graph.Tasks {
		graph.in[t.id] = slices.DeleteFunc(graph.in[t.id], func(e *Edge) bool {
			out := t.IsTransfer() && !e.From.IsTransfer() && common(e.From, t) > 0
			if out {
				forced++
			}
			return out
		})
	}
	return forced, overlapBy(graph, p)
}

// Instance is a statement of a rank in one iteration of the loops around it.
type Instance struct {
	Rank      int
	Stmt      hostir.Stmt
	Iteration []int64
}

// InstanceEdge is a dependence: instance To runs after instance From.
type InstanceEdge struct {
	From, To Instance
	Kind     EdgeKind
}

// InstanceEdges unrolls a program on all ranks, and returns the edges between instances, from which Build derives the
// edges between tasks.
func InstanceEdges(p *hostir.Program) ([]InstanceEdge, error) {
	g := &Graph{Tasks: tasksOf(p)}
	g.index()
	var list []InstanceEdge
	for _, rank := range p.Meshes[0].Ranks {
		u := newUnroller(p, g, rank)
		if err := u.List(p.Body); err != nil {
			return nil, err
		}
		at := func(i int) Instance { return Instance{rank, u.instances[i].task.Stmt, u.instances[i].iter} }
		for _, pair := range u.pairs {
			list = append(list, InstanceEdge{at(pair.from), at(pair.to), pair.kind})
		}
	}
	return list, nil
}
