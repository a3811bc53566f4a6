package emit

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// constants names the parameters, meshes and element types.
func (b *builder) constants() {
	for _, p := range b.program.Params {
		name := b.names.local(p.Name)
		b.scope.values[p.Name] = p.Value
		b.scope.names[p.Name] = name
		b.view.Params = append(b.view.Params, paramView{p.Name, name, p.Value})
	}
	b.scope.names["rank"] = "rank"
	for _, m := range b.program.Meshes {
		b.mesh(m)
	}
	seen := map[domain.DType]bool{}
	for _, t := range b.program.Tensors {
		seen[t.DType] = true
	}
	for _, d := range domain.DTypes {
		if !seen[d] {
			continue
		}
		b.view.Types = append(b.view.Types, cppTypes[d])
		if header := typeHeaders[cppTypes[d].Alias]; header != "" {
			b.view.TypeHeaders = append(b.view.TypeHeaders, header)
		}
	}
}

// mesh declares a mesh as a constant.
func (b *builder) mesh(m *domain.Mesh) {
	view := meshView{Name: b.names.local("mesh_" + m.Name)}
	var axes []string
	for _, a := range m.Axes {
		extent := b.scope.extent(a.Extent)
		view.Extents = append(view.Extents, extent.String())
		axes = append(axes, fmt.Sprintf("%s of %s", a.Name, extent))
	}
	for i, r := range m.Ranks {
		if i != r {
			view.Ranks = m.Ranks
		}
	}
	view.Comment = fmt.Sprintf("Mesh %s: %s ranks.", m.Name, strings.Join(axes, ", "))
	b.meshes[m] = view.Name
	b.view.Meshes = append(b.view.Meshes, view)
}

// argument describes an input or output and binds its pointer.
func (b *builder) argument(t *hostir.Tensor, index int) {
	name := b.variable(t)
	buf := b.newBuffer(t, name)
	b.buffers[t] = buf
	view := tensorView{
		Name: t.Name, Var: name, Type: buf.typ, Axes: b.globalAxes(t), Shape: domain.FormatAxes(t.Axes) + b.onMesh(t),
		Local: buf.shape(), Present: b.present(t), Output: t.Role == hostir.Output, Where: at(t.Pos, ""), Contraction: unlessOne(b.contraction(t)),
		Deviation: decimal(t.Deviation), Tolerance: decimal(t.Tolerance),
	}
	if view.Output {
		b.view.Outputs = append(b.view.Outputs, view)
	} else {
		b.view.Inputs = append(b.view.Inputs, view)
	}
	if b.used[t] {
		b.view.Bindings = append(b.view.Bindings, &bindNode{
			Const: t.Role == hostir.Input, Type: buf.typ.Alias, Name: name, Index: index, Shape: buf.shape(),
		})
	}
}

// variable is the C++ name of a tensor.
func (b *builder) variable(t *hostir.Tensor) string {
	if name, ok := b.variables[t]; ok {
		return name
	}
	name := b.names.local(t.Name)
	b.variables[t] = name
	return name
}

// coordinate names this rank's coordinate along an axis of a mesh.
func (b *builder) coordinate(m *domain.Mesh, axis string) string {
	b.view.UsesRank = true
	mesh := b.meshes[m]
	want := coordinateView{Mesh: mesh, Axis: axisIndex(m, axis)}
	for _, c := range b.view.Coordinates {
		if c.Mesh == want.Mesh && c.Axis == want.Axis {
			return c.Name
		}
	}
	want.Name = b.coordinateName(m, want.Axis)
	b.view.Coordinates = append(b.view.Coordinates, want)
	return want.Name
}

// coordinateName is the C++ name of this rank's coordinate along an axis of a mesh.
func (b *builder) coordinateName(m *domain.Mesh, axis int) string {
	key := fmt.Sprintf("%s %d", b.meshes[m], axis)
	if b.coordinates[key] == "" {
		b.coordinates[key] = b.names.local(m.Axes[axis].Name)
	}
	return b.coordinates[key]
}

func axisIndex(m *domain.Mesh, axis string) int {
	for i, a := range m.Axes {
		if a.Name == axis {
			return i
		}
	}
	return 0
}
