package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Limits of random specs. They are small, so that the interpreter runs many programs per second.
const (
	maxElements = 512 // limit of the elements of a tensor
	maxAxes     = 5
	maxRanks    = 8
)

// generator makes one random spec. It tracks the shapes of all tensors, so that operations fit. The kinds of axes of
// undeclared results are a guess, because the model must infer them.
type generator struct {
	*rand.Rand
	spec    Spec
	extents []int64 // extents to choose from; few, so that tensors often fit
	known   []*value
	results int
	fields  []model.Setting // fields of the schedule that the kind of spec needs
}

// value is a tensor that operations can read.
type value struct {
	name  string
	axes  []domain.Axis // without reductions; kinds as declared, or as the operands have them
	dtype domain.DType
	mesh  Mesh
}

func (v *value) shape() []int64 { return domain.Shape(v.axes) }

// as returns a value without name and axes, of another type on the same mesh.
func (v *value) as(dtype domain.DType) *value { return &value{dtype: dtype, mesh: v.mesh} }

// MakeUp makes the spec of a seed and a number.
func MakeUp(seed, number uint64) Spec { return makeUp(seed, number, (*generator).kind) }

// makeUp is MakeUp with a function that chooses the kind of spec.
func makeUp(seed, number uint64, kind func(*generator) specKind) Spec {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, number))} //nolint:gosec // no secret depends on it
	g.spec.Name = fmt.Sprintf("soak%d", number)
	g.meshes()
	g.spec.DType = pick(g, domain.DTypes...)
	most := 5
	if k := kind(g); k.begin != nil {
		k.begin(g)
		most = 2
	}
	for range 1 + g.IntN(2) {
		g.input(nil)
	}
	for range 1 + min(g.IntN(most), g.IntN(most+1)) {
		g.operation()
	}
	g.spec.prune()
	g.names()
	g.schedule(g.chance(0.3))
	if g.chance(0.04) {
		g.spoil()
	}
	return g.spec
}

func (g *generator) chance(p float64) bool { return g.Float64() < p }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// meshes chooses the meshes, and the extents that tensors draw from. The size of every mesh axis is among them, so that tensors can be
// split over it.
func (g *generator) meshes() {
	sizes := []int64{1, 2, 2, 2, 2, 3, 4, 4}
	axes := pick(g, 1, 1, 1, 1, 2, 2, 3)
	for ranks := int64(maxRanks + 1); ranks > maxRanks; ranks = g.spec.World.Size() {
		g.spec.World = Mesh{Name: "world"}
		for _, name := range []string{"x", "y", "z"}[:axes] {
			g.spec.World.Axes = append(g.spec.World.Axes, MeshAxis{name, pick(g, sizes...)})
		}
	}
	if axes == 1 && g.chance(0.1) {
		g.spec.World.Axes[0].Size = pick[int64](g, 5, 6, 8)
	}
	if world := int(g.spec.World.Size()); world > 1 && g.chance(0.2) {
		g.team("part", world)
		if g.chance(0.5) {
			g.team("other", world)
		}
	}
	g.extents = []int64{1, pick[int64](g, 2, 3, 4), pick[int64](g, 2, 4, 6)}
	for _, m := range append([]Mesh{g.spec.World}, g.spec.Teams...) {
		for _, a := range m.Axes {
			g.extents = append(g.extents, a.Size, a.Size)
		}
	}
}

// team adds a mesh of some ranks, in any order.
func (g *generator) team(name string, world int) {
	m := Mesh{Name: name, Axes: []MeshAxis{{"x", int64(1 + g.IntN(world))}}}
	if n := m.Axes[0].Size; n%2 == 0 && g.chance(0.3) {
		m.Axes = []MeshAxis{{"x", n / 2}, {"y", 2}}
	}
	m.Ranks = g.Perm(world)[:m.Size()]
	if g.chance(0.5) {
		slices.Sort(m.Ranks)
	}
	g.spec.Teams = append(g.spec.Teams, m)
}

// mesh chooses the mesh of a tensor: the world or, if there are teams, a team half of the time.
func (g *generator) mesh() Mesh {
	if len(g.spec.Teams) > 0 && g.chance(0.5) {
		return pick(g, g.spec.Teams...)
	}
	return g.spec.World
}

// shape returns a random shape of the given number of axes with at most maxElements elements.
func (g *generator) shape(axes int) []int64 {
	for {
		shape := make([]int64, axes)
		for i := range shape {
			shape[i] = g.extent()
		}
		if product(shape) <= maxElements {
			return shape
		}
	}
}

func product(shape []int64) int64 {
	return lists.Product(shape, func(extent int64) int64 { return extent })
}

// placed chooses the kinds of the axes of a shape: split over the mesh, streamed, broadcast or serial. split is the
// probability to use each mesh axis, and stream the probability of a Stream axis.
func (g *generator) placed(shape []int64, m Mesh, split, stream float64) []domain.Axis {
	axes := make([]domain.Axis, len(shape))
	for i, extent := range shape {
		axes[i].Size = extent
		if extent == 1 && g.chance(0.1) {
			axes[i].Kind = domain.Broadcast
		}
	}
	for _, a := range m.Axes {
		if !g.chance(split) {
			continue
		}
		if at := g.serial(axes, a.Size); at >= 0 {
			axes[at].Place(domain.Device, a.Name)
		}
	}
	if g.chance(stream) {
		if at := g.serial(axes, 0); at >= 0 {
			axes[at].Kind = domain.Stream
		}
	}
	return axes
}

// serial chooses a serial axis of an extent, preferring the first one. Extent 0 matches any axis. It returns -1 if
// there is none.
func (g *generator) serial(axes []domain.Axis, extent int64) int {
	var fit []int
	for i, a := range axes {
		if a.Kind == domain.Serial && (a.Size == extent || extent == 0) {
			fit = append(fit, i)
		}
	}
	switch {
	case len(fit) == 0:
		return -1
	case g.chance(0.4):
		return fit[0]
	}
	return pick(g, fit...)
}

// input declares an input tensor with the spec's element type. If shape is nil, the shape is random.
func (g *generator) input(shape []int64) *value {
	return g.inputOf(shape, g.spec.DType, g.mesh())
}

func (g *generator) inputOf(shape []int64, dtype domain.DType, m Mesh) *value {
	if shape == nil {
		shape = g.shape(1 + max(g.IntN(4), g.IntN(3)))
		if len(m.Axes) > 0 && g.chance(0.5) { // an extent that can certainly be split
			shape[g.IntN(len(shape))] = pick(g, m.Axes...).Size
		}
	}
	v := &value{name: fmt.Sprintf("A%d", len(g.spec.Tensors)), axes: g.placed(shape, m, 0.5, 0.08), dtype: dtype, mesh: m}
	g.declare(v, v.axes)
	g.known = append(g.known, v)
	return v
}

// inputLike declares an input with the type and the mesh of a tensor.
func (g *generator) inputLike(shape []int64, like *value) *value {
	return g.inputOf(shape, like.dtype, like.mesh)
}

// extent chooses an extent.
func (g *generator) extent() int64 { return pick(g, g.extents...) }

// redeclare changes the axes of a declared tensor.
func (g *generator) redeclare(v *value, axes []domain.Axis) {
	v.axes = axes
	g.spec.Tensors[g.spec.declared(v.name)].Axes = slices.Clone(axes)
}

// declare adds a tensor with the axes of its declaration to the spec.
func (g *generator) declare(v *value, axes []domain.Axis) {
	t := Tensor{Name: v.name, Axes: slices.Clone(axes)}
	if v.dtype != g.spec.DType {
		t.DType = v.dtype
	}
	if v.mesh.Name != "world" {
		t.Mesh = v.mesh.Name
	}
	g.spec.Tensors = append(g.spec.Tensors, t)
}

// any chooses a tensor to read, preferring recent ones.
func (g *generator) any() *value {
	return g.known[max(g.IntN(len(g.known)), g.IntN(len(g.known)))]
}

// names sometimes replaces extents by parameters.
func (g *generator) names() {
	if g.chance(0.6) {
		return
	}
	for i, extent := range g.extents[1:] {
		name := fmt.Sprintf("%c", 'K'+i)
		taken := slices.ContainsFunc(g.spec.Params, func(p Param) bool { return p.Value == extent })
		if !taken && len(g.spec.Params) < 4 {
			g.spec.Params = append(g.spec.Params, Param{name, extent})
		}
	}
}

// spoil adds one plausible user error.
func (g *generator) spoil() {
	s := &g.spec
	switch g.IntN(5) {
	case 0:
		t := &s.Tensors[g.IntN(len(s.Tensors))]
		t.Axes[g.IntN(len(t.Axes))].Size++
	case 1:
		t := &s.Tensors[g.IntN(len(s.Tensors))]
		t.DType = pick(g, domain.DTypes...)
	case 2:
		op := &s.Ops[g.IntN(len(s.Ops))]
		op.In = append(op.In, op.In[0])
	case 3:
		op := &s.Ops[g.IntN(len(s.Ops))]
		*op = op.with(number("axis", 7))
	default:
		t := &s.Tensors[g.IntN(len(s.Tensors))]
		t.Axes[g.IntN(len(t.Axes))] = domain.Axis{Kind: domain.Device, Mesh: pick(g, "x", "y", "z"), Extent: domain.Extent{Size: 2}}
	}
}
