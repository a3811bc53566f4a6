package pipeline

import "github.com/hirgen/hirgen/lowering/hostir"

// Instance is a statement of a rank in one iteration of the loops around it.
type Instance struct {
	Rank      int
	Stmt      hostir.Stmt
	Iteration []int64
}

// InstanceEdge says that one instance follows another one.
type InstanceEdge struct {
	From, To Instance
	Kind     EdgeKind
}

// InstanceEdges unrolls a program on all ranks, and gives the edges from which those of its graph come.
func InstanceEdges(p *hostir.Program) ([]InstanceEdge, error) {
	makes := hostir.ViewMakers(p.Body)
	g := &Graph{Tasks: tasksOf(p, makes)}
	g.index()
	var list []InstanceEdge
	for _, rank := range p.Meshes[0].Ranks {
		u := newUnroller(p, g, makes, rank)
		if err := u.block(p.Body); err != nil {
			return nil, err
		}
		at := func(i int) Instance { return Instance{rank, u.instances[i].task.Stmt, u.instances[i].iter} }
		for _, pair := range u.pairs {
			list = append(list, InstanceEdge{at(pair.from), at(pair.to), pair.kind})
		}
	}
	return list, nil
}
