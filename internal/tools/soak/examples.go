package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// An Example is a handwritten spec.
type Example struct {
	name, text string
	params     []string
}

var paramNames = regexp.MustCompile(`(\w+): \d+[,}]`)

// Examples reads the specs that patterns match. It returns an error if a pattern matches none.
func Examples(patterns ...string) ([]Example, error) {
	var list []Example
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no specs are at %s: %w", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			e := Example{name: file, text: string(text)}
			for _, found := range paramNames.FindAllStringSubmatch(regexp.MustCompile(`params: .*`).FindString(e.text), -1) {
				e.params = append(e.params, found[1])
			}
			list = append(list, e)
		}
	}
	return list, nil
}

// Vary returns an example at a small size with changes: on a grid or on some of the ranks, with other element types,
// kinds of axes and schedules. It returns false if it finds no small example in 20 tries.
func Vary(examples []Example, seed, number uint64) (Spec, bool) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, number))} //nolint:gosec // no secret depends on it
	for range 20 {
		e := pick(g, examples...)
		p, err := model.Load("spec.yaml", []byte(e.text), g.sizes(e))
		if err != nil || !small(p) {
			continue
		}
		g.spec = specOf(p)
		g.spec.Name = fmt.Sprintf("soak%d", number)
		g.vary(p)
		return g.spec, true
	}
	return Spec{}, false
}

// sizes chooses parameter values that are often equal, and such that most divisions in specs leave no remainder.
func (g *generator) sizes(e Example) map[string]int64 {
	d, s := pick[int64](g, 2, 2, 2, 3, 4, 4, 1, 8), pick[int64](g, 1, 2, 2, 3, 4)
	g.extents = []int64{d, s, 2, 1, 4}
	values := map[string]int64{}
	for _, name := range e.params {
		switch name {
		case "D":
			values[name] = d
		case "S":
			values[name] = s
		case "R":
			values[name] = 2
		case "M":
			values[name] = d * s * pick[int64](g, 1, 2)
		case "N", "K", "H":
			values[name] = d * pick[int64](g, 1, 2, 3)
		default:
			values[name] = pick[int64](g, 1, 2, 3)
		}
	}
	return values
}

func small(p *model.Pipeline) bool {
	for _, t := range p.Tensors {
		if product(domain.Shape(t.Axes)) > maxElements {
			return false
		}
	}
	return len(p.Ops) <= 60 && p.Meshes[0].Size() <= maxRanks
}

// vary changes the placement, the types, the axes, the operations and the schedule of an example, each with some
// probability.
func (g *generator) vary(p *model.Pipeline) {
	s := &g.spec
	g.place()
	if g.chance(0.3) {
		s.DType = pick(g, domain.DTypes...)
	}
	if g.chance(0.15) {
		t := &s.Tensors[g.IntN(len(s.Tensors))]
		m := s.World
		if at := slices.IndexFunc(s.Teams, func(m Mesh) bool { return m.Name == t.Mesh }); at >= 0 {
			m = s.Teams[at]
		}
		t.Axes = g.placed(domain.Shape(t.Axes), m, 0.6, 0.3)
	}
	if g.chance(0.15) { // leave a result undeclared
		i := g.IntN(len(s.Ops))
		s.Tensors = slices.DeleteFunc(s.Tensors, func(t Tensor) bool { return t.Name == s.Ops[i].Out })
	}
	if g.chance(0.1) { // give a declared result the type fp32
		out := s.Ops[g.IntN(len(s.Ops))].Out
		if at := s.declared(out); at >= 0 {
			s.Tensors[at].DType = domain.FP32
		}
	}
	if g.chance(0.1) {
		for _, t := range p.Tensors {
			g.known = append(g.known, &value{name: t.Name, axes: domain.WithoutReductions(t.Axes), dtype: t.DType, mesh: g.spec.World})
		}
		g.results = 100
		g.operation()
	}
	own := s.Schedule
	if g.schedule(false); g.chance(0.6) { // keep the example's own fields, except some that were also drawn
		for _, c := range own {
			if g.chosen(c.Path) == "" || c.Path == schedule.Pipeline || c.Path == "all.via" && g.chance(0.5) {
				g.unset(c.Path)
				s.Schedule = append(s.Schedule, c)
			}
		}
	}
	if g.chance(0.5) && g.chosen(schedule.Pipeline) == "" {
		s.Schedule = append(s.Schedule, model.Setting{Path: schedule.Pipeline,
			Value: pick(g, schedule.P2P, schedule.P2P, schedule.BroadcastEach, schedule.ReduceTo)})
	}
	if g.chance(0.85) {
		g.fitting()
	}
}

// place puts some specs of one mesh axis on the rows or the columns of a grid, or on some of the ranks.
func (g *generator) place() {
	s := &g.spec
	if len(s.World.Axes) != 1 || len(s.Teams) > 0 || s.World.Size()*2 > maxRanks {
		return
	}
	switch n := s.World.Size(); {
	case g.chance(0.15):
		s.World.Axes = append([]MeshAxis{{"y", 2}}, s.World.Axes...)
	case g.chance(0.15): //nolint:gocritic // each draws anew
		s.World.Axes = append(s.World.Axes, MeshAxis{"y", 2})
	case g.chance(0.2):
		s.Teams = []Mesh{{Name: "part", Axes: slices.Clone(s.World.Axes), Ranks: g.Perm(int(2 * n))[:n]}}
		s.World.Axes[0].Size = 2 * n
		for i := range s.Tensors {
			s.Tensors[i].Mesh = "part"
		}
	}
}

// specOf returns a pipeline as a spec. Composite operations are expanded, and extents are numbers.
func specOf(p *model.Pipeline) Spec {
	s := Spec{Name: p.Name, DType: p.Tensors[0].DType, World: meshOf(p.Meshes[0])}
	for _, m := range p.Meshes[1:] {
		s.Teams = append(s.Teams, meshOf(m))
	}
	for _, t := range p.Tensors {
		if t.Producer != nil && !t.Annotated {
			continue
		}
		d := tensorOf(p, t)
		if t.DType == s.DType {
			d.DType = ""
		}
		s.Tensors = append(s.Tensors, d)
	}
	for _, op := range p.Ops {
		s.Ops = append(s.Ops, opOf(op))
	}
	for _, c := range p.Schedule.Stated() {
		s.Schedule = append(s.Schedule, model.Setting{Path: c.Path(), Value: c.Value})
	}
	return s
}

// tensorOf returns the declaration of a tensor of a pipeline, with numbers for extents.
func tensorOf(p *model.Pipeline, t *model.Tensor) Tensor {
	d := Tensor{Name: t.Name, DType: t.DType}
	for _, a := range t.Axes {
		a.Text = ""
		d.Axes = append(d.Axes, a)
	}
	if t.Mesh != p.Meshes[0] {
		d.Mesh = t.Mesh.Name
	}
	return d
}

func meshOf(m *domain.Mesh) Mesh {
	mesh := Mesh{Name: m.Name, Ranks: slices.Clone(m.Ranks)}
	for _, a := range m.Axes {
		mesh.Axes = append(mesh.Axes, MeshAxis{a.Name, a.Size})
	}
	return mesh
}

func opOf(op *model.Op) Op {
	o := Op{Out: op.Out.Name, Fn: string(op.Kind)}
	for _, t := range op.More {
		o.More = append(o.More, t.Name)
	}
	for _, in := range op.In {
		o.In = append(o.In, in.Name)
	}
	switch op.Kind {
	case model.OpUnary, model.OpBinary, model.OpReduce:
		var constant string
		if o.Fn, constant = domain.SplitFn(op.Fn); constant != "" {
			o = o.with(word("by", constant))
		}
	}
	if a, attends := domain.AttentionOf(op.Fn); attends {
		for _, attribute := range a.Attributes() {
			name, value, _ := strings.Cut(attribute, "=")
			o = o.with(word(name, value))
		}
	}
	switch op.Kind {
	case model.OpReduce, model.OpBroadcast, model.OpPositions, model.OpConcat:
		if op.Axis < 0 {
			return o.with(number("size", op.Out.Axes[0].Size))
		}
		o = o.with(number("axis", int64(op.Axis)))
	case model.OpSlice:
		size := domain.WithoutReductions(op.Out.Axes)[op.Axis].Size
		o = o.with(number("axis", int64(op.Axis)), number("start", op.Start.Size), number("size", size))
	case model.OpPermute:
		o = o.with(permutation(op.Perm))
	case model.OpReshape:
		o = o.with(shaped(domain.Shape(op.Out.Axes)))
	case model.OpCast:
		o = o.with(word("dtype", string(op.Out.DType)))
	}
	return o
}
