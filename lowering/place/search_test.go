package place

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// simple prices a call by its bytes or operations, plus a constant.
type simple struct{}

func (simple) CollectiveAlone(form collective.Form, in, out int64, ranks int) float64 {
	bytes, _ := form.Ring(float64(in), float64(out), float64(ranks))
	return 3 + bytes/8
}
func (simple) KernelAlone(bytes int64) float64   { return 1 + float64(bytes)/64 }
func (simple) GEMMAlone(p cost.GEMMSize) float64 { return 1 + float64(p.Batch*p.M*p.N*p.K)/512 }

// graphs makes random programs.
type graphs struct {
	*rand.Rand
	p    *hostir.Program
	made []*hostir.Tensor
}

// tensor adds a tensor to the program. The search chooses only the placements of temporaries. If the program has two meshes, one tensor
// of five is on the second.
func (g *graphs) tensor(role hostir.Role, axes ...domain.Axis) *hostir.Tensor {
	t := &hostir.Tensor{
		Name: fmt.Sprint("t", len(g.p.Tensors)), DType: domain.FP32, Axes: axes, Mesh: g.p.Meshes[0], Role: role, Inferred: role == hostir.Temp,
	}
	if len(g.p.Meshes) > 1 && g.IntN(5) == 0 {
		t.Mesh = g.p.Meshes[1]
	}
	g.p.Tensors = append(g.p.Tensors, t)
	return t
}

// any returns a random earlier tensor.
func (g *graphs) any() *hostir.Tensor { return g.made[g.IntN(len(g.made))] }

// extent is the size of each axis of a tensor.
const extent = 12

func serial() domain.Axis { return domain.Axis{Extent: domain.Extent{Size: extent}} }

// program makes a random program of the given number of statements, where a Reduce and its Broadcast count as one. It
// is on two to four ranks along one mesh axis, or on four ranks along two. With two axes there are at most four
// statements. One program of three has another mesh, with the same axes.
func (g *graphs) program(statements int) *hostir.Program {
	mesh := &domain.Mesh{Name: "world", Axes: []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Size: 2}}}}
	if g.IntN(2) == 0 {
		mesh.Axes = append(mesh.Axes, domain.MeshAxis{Name: "y", Extent: domain.Extent{Size: 2}})
		statements = min(statements, 4)
	} else {
		mesh.Axes[0].Size += g.Int64N(3)
	}
	for rank := range int(mesh.Axes[0].Size) * len(mesh.Axes) { // a second axis has two ranks
		mesh.Ranks = append(mesh.Ranks, rank)
	}
	g.p, g.made = &hostir.Program{Name: "random", Meshes: []*domain.Mesh{mesh}}, nil
	if g.IntN(3) == 0 {
		other := *mesh
		other.Ranks = slices.Clone(mesh.Ranks)
		slices.Reverse(other.Ranks)
		g.p.Meshes = append(g.p.Meshes, &other)
	}
	for range 3 {
		g.made = append(g.made, g.tensor(hostir.Input, serial(), serial()))
	}
	for i := range statements {
		role := hostir.Temp
		if i == statements-1 {
			role = hostir.Output
		}
		out := g.tensor(role, serial(), serial())
		var s hostir.Stmt
		switch g.IntN(6) {
		case 0, 1:
			s = &hostir.Matmul{Out: out, A: g.any(), B: g.any()}
		case 2:
			s = &hostir.Binary{Fn: []string{"add", "mul"}[g.IntN(2)], Out: out, A: g.any(), B: g.any()}
		case 3:
			s = &hostir.Unary{Fn: []string{"neg", "relu"}[g.IntN(2)], Out: out, In: g.any()}
		case 4:
			s = &hostir.Permute{Out: out, In: g.any(), Perm: []int{1, 0}}
		case 5:
			row := g.tensor(hostir.Temp, serial())
			g.p.Body = append(g.p.Body, &hostir.Reduce{Fn: []string{"sum", "max"}[g.IntN(2)], Out: row, In: g.any(), Axis: g.IntN(2)})
			s = &hostir.Broadcast{Out: out, In: row, Axis: g.IntN(2)}
		}
		g.made = append(g.made, out)
		g.p.Body = append(g.p.Body, s)
	}
	return g.p
}

// less reports whether some assignment of the statements from number i on takes less time in total than us. It tries all choices, except
// after a state that is too slow for that, or no faster than another with the same history.
func (g *graph) less(s *state, i int, us float64, seen map[string]float64) bool {
	least := s.us
	for _, choices := range g.choices[i:] {
		least += slices.MinFunc(choices, func(a, b choice) int { return cmp.Compare(a.us, b.us) }).us
	}
	if least >= us*(1-1e-9) || i == len(g.body) {
		return least < us*(1-1e-9)
	}
	key := g.history(s, i)
	if before, known := seen[key]; known && before <= s.us {
		return false
	}
	seen[key] = s.us
	for n := range g.choices[i] {
		if next := g.next(s, i, n); next != nil && g.less(next, i+1, us, seen) {
			return true
		}
	}
	return false
}

// history describes what the statements from number i on depend on, from the choices of the statements before them: for each
// tensor that they or their views read, how it was made and in which placements it and its views were read. The order of
// reads counts only if a tree was settled between them.
func (g *graph) history(s *state, i int) string {
	root := func(t *hostir.Tensor) *hostir.Tensor {
		for v, is := g.views[t]; is; v, is = g.views[t] {
			t = hostir.Uses(v.stmt)[0]
		}
		return t
	}
	later, made, reads := map[string]bool{}, map[string]Placements{}, map[string][]string{}
	for _, uses := range g.uses[i:] {
		for _, t := range uses {
			later[root(t).Name] = true
		}
	}
	for at := i - 1; at >= 0; at, s = at-1, s.before {
		c := g.choices[at][s.chosen]
		for k, t := range g.uses[at] {
			name := root(t).Name
			reads[name] = append(reads[name], fmt.Sprintf("%s %q", t.Name, c.in[k]))
		}
		for k, t := range g.defs[at] {
			made[t.Name] = c.out[k]
		}
	}
	var text []string
	for _, name := range slices.Sorted(maps.Keys(later)) {
		if set := slices.Compact(slices.Sorted(slices.Values(reads[name]))); len(set) <= mostNeeded {
			reads[name] = set
		}
		text = append(text, fmt.Sprintf("%s %q %q", name, made[name], reads[name]))
	}
	return fmt.Sprint(i, text)
}

// placed gives the inputs random placements, but leaves an input as it is if two mesh axes would split one of its axes.
func (g *graphs) placed(of *graph) {
	for _, t := range g.p.Tensors[:3] {
		at := make([]Placement, len(of.mesh.Axes))
		for i := range at {
			at[i] = Placement(g.IntN(3) - 1)
		}
		if p := placements(at...); !p.twice() {
			of.fixed[t] = p
		}
	}
}

// TestSearchFindsTheLeast runs the search with the largest beam in use on random programs of up to eight statements, and compares it
// with all assignments. A beam of one state must be worse for at least 20 programs.
func TestSearchFindsTheLeast(t *testing.T) {
	random := &graphs{Rand: rand.New(rand.NewPCG(1, 2))}
	better := 0
	for n := range 210 {
		p := random.program(2 + n%7)
		part, _ := partOf(p, p.Meshes[0])
		g := newGraph(p.Body, &pricing{Prices: simple{}, part: part})
		random.placed(g)
		chosen, us := g.search(many)
		if len(chosen) != len(p.Body) || g.less(g.begin(), 0, us, map[string]float64{}) {
			t.Errorf("%d: %v: %v is not the least time of all assignments", n, chosen, us)
		}
		if _, greedy := g.search(1); greedy > us*(1+1e-9) {
			better++
		}
	}
	if better < 20 {
		t.Errorf("statement by statement is the best way in all but %d", better)
	}
}

// TestSearchOfManyViews limits the time of a search of 12 views, each of the one before, on a mesh of three axes, and of one statement
// that reads 16 views. Without its bounds the search takes minutes.
func TestSearchOfManyViews(t *testing.T) {
	chain := &graphs{p: &hostir.Program{Meshes: []*domain.Mesh{{Name: "world"}}}}
	wide := &graphs{p: &hostir.Program{Meshes: []*domain.Mesh{{Name: "world"}}}}
	for i, name := range []string{"x", "y", "z"} {
		axis := domain.MeshAxis{Name: name, Extent: domain.Extent{Size: 2}}
		if chain.p.Meshes[0].Axes = append(chain.p.Meshes[0].Axes, axis); i == 0 {
			wide.p.Meshes[0].Axes = append(wide.p.Meshes[0].Axes, axis)
		}
	}
	view := chain.tensor(hostir.Input, serial(), serial(), serial())
	for i := range 12 {
		next := chain.tensor(hostir.Temp, serial(), serial(), serial())
		perm := [][]int{{0, 2, 1}, {1, 0, 2}}[i%2]
		chain.p.Body = append(chain.p.Body, &hostir.Permute{Out: next, In: view, Perm: perm},
			&hostir.Unary{Fn: "relu", Out: chain.tensor(hostir.Temp, serial(), serial(), serial()), In: next})
		view = next
	}
	in := wide.tensor(hostir.Input, serial(), serial())
	concat := &hostir.Concat{Out: wide.tensor(hostir.Output, serial(), serial()), Axis: 1}
	for i := range 16 {
		part := wide.tensor(hostir.Temp, serial(), serial())
		wide.p.Body = append(wide.p.Body, &hostir.Permute{Out: part, In: in, Perm: []int{i % 2, 1 - i%2}})
		concat.In = append(concat.In, part)
	}
	wide.p.Body = append(wide.p.Body, concat)
	for _, of := range []*graphs{chain, wide} {
		start := time.Now()
		g := newGraph(of.p.Body, &pricing{Prices: simple{}, part: part{mesh: of.p.Meshes[0]}})
		if chosen, _ := g.search(256); len(chosen) != len(of.p.Body) || time.Since(start) > time.Minute {
			t.Errorf("%d choices in %v", len(chosen), time.Since(start))
		}
	}
}

// TestBeamOfAMesh checks that the search of a mesh keeps as many states as if the statements of other meshes were not in the program,
// and finds the same.
func TestBeamOfAMesh(t *testing.T) {
	axis := []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Size: 2}}}
	meshes := []*domain.Mesh{{Name: "first", Axes: axis, Ranks: []int{0, 1}}, {Name: "second", Axes: axis, Ranks: []int{2, 3}}}
	g := &graphs{Rand: rand.New(rand.NewPCG(1, 2)), p: &hostir.Program{Meshes: meshes}}
	in := []*hostir.Tensor{g.tensor(hostir.Input, serial(), serial()), g.tensor(hostir.Input, serial(), serial())}
	var own []hostir.Stmt
	for i := range 400 {
		role := hostir.Temp
		if i > 397 {
			role = hostir.Output
		}
		on := min(i%8, 1)
		out := g.tensor(role, serial(), serial())
		in[on].Mesh, out.Mesh = meshes[on], meshes[on]
		s := &hostir.Matmul{Out: out, A: in[on], B: in[on]}
		if g.p.Body = append(g.p.Body, s); on == 0 {
			own = append(own, s)
		}
		in[on] = out
	}
	search := func(body []hostir.Stmt, of part) (us float64, beam int) {
		graph := newGraph(body, &pricing{Prices: simple{}, part: of})
		chosen, us := graph.search(beamOf(graph))
		if len(chosen) != len(body) {
			t.Fatalf("%d choices for %d statements", len(chosen), len(body))
		}
		return us, beamOf(graph)
	}
	of, _ := partOf(g.p, meshes[0])
	us, beam := search(g.p.Body, of)
	if want, alone := search(own, part{mesh: meshes[0]}); us != want || beam != alone {
		t.Errorf("%v us with %d states, and alone %v with %d", us, beam, want, alone)
	}
}
