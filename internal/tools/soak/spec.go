package soak

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// A Spec is a spec as data, which can be generated, changed and reduced before it is printed.
type Spec struct {
	Name     string
	Params   []Param // names of extents; they change only the text
	World    Mesh    // without axes: as many ranks as the teams need
	Teams    []Mesh  // additional meshes
	DType    domain.DType
	Tensors  []Tensor // declared ones
	Ops      []Op
	Outputs  []string // empty: the results that no operation reads
	Schedule []model.Setting
	Legal    bool // it must be accepted
}

// A Param is a parameter of a spec. Text prints extents that equal its value as its name.
type Param struct {
	Name  string
	Value int64
}

// A Mesh has axes and, for a team, its ranks.
type Mesh struct {
	Name  string
	Axes  []MeshAxis
	Ranks []int
}

// A MeshAxis is an axis of a mesh.
type MeshAxis struct {
	Name string
	Size int64
}

// device returns an axis of a tensor that is split over a mesh axis.
func (a MeshAxis) device() domain.Axis {
	return domain.Axis{Kind: domain.Device, Mesh: a.Name, Extent: domain.Extent{Size: a.Size}}
}

// Size returns the number of ranks.
func (m Mesh) Size() int64 { return lists.Product(m.Axes, func(a MeshAxis) int64 { return a.Size }) }

// A Tensor is a declared tensor. By default it has the spec's element type and is on the world.
type Tensor struct {
	Name  string
	Axes  []domain.Axis
	DType domain.DType
	Mesh  string
}

// An Op is an operation as a spec writes it.
type Op struct {
	Out, Fn string
	More    []string // additional results
	In      []string
	Attrs   []Attr
}

// Results returns all results of an operation.
func (o Op) Results() []string { return append([]string{o.Out}, o.More...) }

// with returns the operation with additional attributes.
func (o Op) with(attrs ...Attr) Op {
	o.Attrs = append(o.Attrs, attrs...)
	return o
}

// An Attr is an attribute of an operation: one value, or a list. Sizes marks a list of extents, in which Text may print
// parameters.
type Attr struct {
	Name  string
	Value string
	List  []int64
	Sizes bool
}

// word returns an attribute with one value.
func word(name, value string) Attr { return Attr{Name: name, Value: value} }

// number returns an attribute with one number.
func number(name string, n int64) Attr { return word(name, strconv.FormatInt(n, 10)) }

// listed returns an attribute with a list of numbers.
func listed(name string, numbers []int64) Attr { return Attr{Name: name, List: numbers} }

// permutation returns the attribute of a permute.
func permutation(perm []int) Attr {
	return listed("perm", lists.Map(perm, func(axis int) int64 { return int64(axis) }))
}

// shaped returns an attribute with a list of extents.
func shaped(extents []int64) Attr { return Attr{Name: "shape", List: extents, Sizes: true} }

// Clone returns a deep copy of a spec.
func (s Spec) Clone() Spec {
	s.Params, s.Outputs, s.Schedule = slices.Clone(s.Params), slices.Clone(s.Outputs), slices.Clone(s.Schedule)
	s.World.Axes = slices.Clone(s.World.Axes)
	s.Teams = slices.Clone(s.Teams)
	for i, m := range s.Teams {
		s.Teams[i].Axes, s.Teams[i].Ranks = slices.Clone(m.Axes), slices.Clone(m.Ranks)
	}
	s.Tensors = slices.Clone(s.Tensors)
	for i, t := range s.Tensors {
		s.Tensors[i].Axes = slices.Clone(t.Axes)
	}
	s.Ops = slices.Clone(s.Ops)
	for i, op := range s.Ops {
		s.Ops[i].More, s.Ops[i].In, s.Ops[i].Attrs = slices.Clone(op.More), slices.Clone(op.In), slices.Clone(op.Attrs)
		for j, a := range op.Attrs {
			s.Ops[i].Attrs[j].List = slices.Clone(a.List)
		}
	}
	return s
}

// Text prints the spec as a file.
func (s Spec) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hirgen: 1\nname: %s\n", s.Name)
	if len(s.Params) > 0 {
		fmt.Fprintf(&b, "params: {%s}\n", lists.Join(s.Params, func(p Param) string { return fmt.Sprintf("%s: %d", p.Name, p.Value) }))
	}
	if len(s.World.Axes) > 0 {
		fmt.Fprintf(&b, "mesh: %s\n", s.axes(s.World))
	}
	if len(s.Teams) > 0 {
		b.WriteString("meshes:\n")
	}
	for _, m := range s.Teams {
		fmt.Fprintf(&b, "  %s: {axes: %s, ranks: [%s]}\n", m.Name, s.axes(m), lists.Join(m.Ranks, strconv.Itoa))
	}
	if s.DType != "" {
		fmt.Fprintf(&b, "dtype: %s\n", s.DType)
	}
	b.WriteString("tensors:\n")
	for _, t := range s.Tensors {
		fmt.Fprintf(&b, "  %s: %s\n", t.Name, s.tensor(t))
	}
	b.WriteString("ops:\n")
	for _, op := range s.Ops {
		fmt.Fprintf(&b, "  - %s\n", s.op(op))
	}
	if len(s.Outputs) > 0 {
		fmt.Fprintf(&b, "outputs: [%s]\n", strings.Join(s.Outputs, ", "))
	}
	fmt.Fprintf(&b, "schedule: {%s}\n", schedule.Flow(s.choices())) // without this line the schedule is auto
	return b.String()
}

// choices lists the fields of the schedule.
func (s Spec) choices() []schedule.Choice {
	return lists.Map(s.Schedule, func(c model.Setting) schedule.Choice {
		of, field := schedule.SplitPath(c.Path)
		return schedule.Choice{Of: of, Field: field, Value: c.Value}
	})
}

// size prints an extent: as the name of the first parameter with this value, or as a number if there is none.
func (s Spec) size(n int64) string {
	for _, p := range s.Params {
		if p.Value == n {
			return p.Name
		}
	}
	return strconv.FormatInt(n, 10)
}

func (s Spec) axes(m Mesh) string {
	return "{" + lists.Join(m.Axes, func(a MeshAxis) string { return a.Name + ": " + s.size(a.Size) }) + "}"
}

func (s Spec) tensor(t Tensor) string {
	axes := "[" + lists.Join(t.Axes, func(a domain.Axis) string {
		a.Text = s.size(a.Size)
		return a.String()
	}) + "]"
	if t.DType == "" && t.Mesh == "" {
		return axes
	}
	axes = "{axes: " + axes
	if t.DType != "" {
		axes += ", dtype: " + string(t.DType)
	}
	if t.Mesh != "" {
		axes += ", mesh: " + t.Mesh
	}
	return axes + "}"
}

func (s Spec) op(op Op) string {
	args := slices.Clone(op.In)
	for _, a := range op.Attrs {
		switch {
		case a.List == nil:
			args = append(args, a.Name+"="+a.Value)
		case a.Sizes:
			args = append(args, a.Name+"=["+lists.Join(a.List, s.size)+"]")
		default:
			args = append(args, a.Name+"=["+lists.Join(a.List, func(n int64) string { return strconv.FormatInt(n, 10) })+"]")
		}
	}
	return fmt.Sprintf("%s = %s(%s)", strings.Join(op.Results(), ", "), op.Fn, strings.Join(args, ", "))
}

// declared returns the index of a declared tensor, or -1.
func (s Spec) declared(name string) int {
	return slices.IndexFunc(s.Tensors, func(t Tensor) bool { return t.Name == name })
}
