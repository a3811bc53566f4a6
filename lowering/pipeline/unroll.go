package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Build derives the graph of a program. It runs through all iterations on every rank, so indices may be any
// expressions of loop variables and the rank. The cost grows with the number of instances on all ranks.
func Build(p *hostir.Program) (*Graph, error) {
	g := &Graph{Tasks: tasksOf(p)}
	g.index()
	where := spots{}
	found := newEdges()
	for _, rank := range p.Meshes[0].Ranks {
		u := newUnroller(p, g, rank)
		u.spots = where
		if err := u.List(p.Body); err != nil {
			return nil, err
		}
		found.collect(u)
		u.count()
	}
	g.Edges = found.list()
	g.in, g.out = make([][]*Edge, len(g.Tasks)), make([][]*Edge, len(g.Tasks))
	for _, e := range g.Edges {
		g.in[e.To.id], g.out[e.From.id] = append(g.in[e.To.id], e), append(g.out[e.From.id], e)
	}
	return g, nil
}

// instance is a task in one iteration of its loops.
type instance struct {
	task *Task
	iter []int64
}

// unroller runs through the statements of one rank.
type unroller struct {
	*hostir.Issue
	graph     *Graph
	rank      int
	spots     spots
	buffers   map[*hostir.Tensor]*history
	takes     map[hostir.Stmt]bool // caches takesPart
	instances []instance
	pairs     []pair
}

func newUnroller(p *hostir.Program, g *Graph, rank int) *unroller {
	u := &unroller{graph: g, rank: rank, spots: spots{}, buffers: map[*hostir.Tensor]*history{}, takes: map[hostir.Stmt]bool{}}
	u.Issue = hostir.NewIssue(p, rank, u.statement)
	return u
}

// count raises the count of each task to the number of its instances on the rank.
func (u *unroller) count() {
	counts := make([]int64, len(u.graph.Tasks))
	for _, i := range u.instances {
		counts[i.task.id]++
		i.task.count = max(i.task.count, counts[i.task.id])
	}
}

func (u *unroller) statement(s hostir.Stmt) error {
	if t := u.graph.of[s]; t != nil && u.takesPart(s) {
		return u.run(t)
	}
	return nil
}

// takesPart reports whether the rank runs a statement at all. It computes the ranks of each statement once,
// not in each iteration: there are often as many iterations as ranks.
func (u *unroller) takesPart(s hostir.Stmt) bool {
	takes, known := u.takes[s]
	if !known {
		ranks := hostir.Ranks(s)
		takes = ranks == nil || slices.Contains(ranks, u.rank)
		u.takes[s] = takes
	}
	return takes
}

// run records the elements that an instance of a task reads and writes.
func (u *unroller) run(t *Task) error {
	at := len(u.instances)
	u.instances = append(u.instances, instance{t, u.Iteration(u.Loops)})
	reads, writes := u.sides(t.Stmt)
	for _, in := range t.uses {
		if !reads {
			continue
		}
		if err := u.access(in, at, false); err != nil {
			return err
		}
	}
	for _, out := range t.defs {
		if !writes {
			continue
		}
		if err := u.access(out, at, true); err != nil {
			return err
		}
	}
	return nil
}

// sides reports whether the rank reads and writes the tensors of a statement. In a communication with a root,
// only the root does both. In a SendRecv a rank may have one of the two tensors alone.
func (u *unroller) sides(s hostir.Stmt) (reads, writes bool) {
	c, ok := s.(*hostir.Communication)
	switch {
	case !ok:
		return true, true
	case c.Type == collective.SendRecv:
		return slices.Contains(c.In.Mesh.Ranks, u.rank), slices.Contains(c.Out.Mesh.Ranks, u.rank)
	case c.Root == nil:
		return true, true
	}
	root, err := u.Eval(c.Root)
	at := slices.Index(c.Team(u.rank), u.rank)
	return c.Type.Row().Sides(err != nil || int64(at) == root)
}

func (u *unroller) access(t *hostir.Tensor, at int, writes bool) error {
	buffer, offset, list, err := u.spots.of(t, u.Eval)
	if err != nil {
		return err
	}
	h := u.buffers[buffer]
	if h == nil {
		h = &history{}
		u.buffers[buffer] = h
	}
	beside := func(other int) bool { return u.instances[at].excludes(u.instances[other]) }
	for _, r := range list {
		u.pairs = h.access(run{r.low + offset, r.high + offset}, at, writes, beside, u.pairs)
	}
	return nil
}

// excludes reports whether only one of two instances runs: in one iteration, a transfer with a peer on the
// same node, and a transfer with a peer on another node.
func (i instance) excludes(other instance) bool {
	a, ok := i.task.Stmt.(*hostir.P2PCommunication)
	b, ok2 := other.task.Stmt.(*hostir.P2PCommunication)
	return ok && ok2 && a.Locality != b.Locality && a.Locality != hostir.AnyNode && b.Locality != hostir.AnyNode &&
		slices.Equal(i.iter, other.iter)
}
