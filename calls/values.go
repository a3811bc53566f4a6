package calls

import "github.com/hirgen/hirgen/internal/base/expr"

// Values maps names in expressions to their values.
type Values map[string]int64

// Values returns the values of parameters, constants and StreamCount.
func (p *Program) Values() Values {
	v := Values{StreamCount: int64(p.Streams)}
	for _, d := range p.Params {
		v[d.Name] = d.Value
	}
	for _, d := range p.Constants {
		v[d.Name], _ = v.Eval(d.Value)
	}
	return v
}

// Eval evaluates an expression. ok is false if a name has no value, or if the expression cannot be computed, for
// example because of a division by 0.
func (v Values) Eval(e expr.Expr) (value int64, ok bool) {
	value, err := expr.Eval(e, func(name string) (int64, bool) {
		value, ok := v[name]
		return value, ok
	})
	return value, err == nil
}

// Definition returns the expression by which the spec defines a parameter. It returns nil if the spec gives a number, or
// if an override changed the value.
func (v Values) Definition(d *Param) expr.Expr {
	if d.From == nil {
		return nil
	}
	if value, ok := v.Eval(d.From); !ok || value != d.Value {
		return nil
	}
	return d.From
}

// Ranks lists the world ranks.
func (p *Program) Ranks() []int64 { return p.Members(p.Meshes[0]) }

// Members lists the world ranks of a mesh, row-major.
func (p *Program) Members(m *Mesh) []int64 {
	if m.Ranks != nil {
		return m.Ranks
	}
	size, v := int64(1), p.Values()
	for _, extent := range m.Extents {
		n, _ := v.Eval(extent)
		size *= n
	}
	list := make([]int64, size)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// MeshNamed returns the mesh with a name, or nil if there is none.
func (p *Program) MeshNamed(name string) *Mesh {
	for _, m := range p.Meshes {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Has reports whether a rank has a buffer. On other ranks pointers to it are null and unused.
func (p *Program) Has(b *Buffer, rank int64) bool { return b.Guard == "" || p.Holds(b.Guard, rank) }

// Holds reports whether a rank is in one of the meshes of the guard with a name.
func (p *Program) Holds(guard string, rank int64) bool {
	for _, g := range p.Guards {
		if g.Name != guard {
			continue
		}
		for _, name := range g.Meshes {
			if p.Position(p.MeshNamed(name), rank) >= 0 {
				return true
			}
		}
	}
	return false
}

// Position returns the position of a world rank in a mesh; -1 if the rank is not in the mesh.
func (p *Program) Position(m *Mesh, rank int64) int {
	for i, r := range p.Members(m) {
		if r == rank {
			return i
		}
	}
	return -1
}

// Coordinate returns the coordinate of a rank along an axis of a mesh, and the difference of positions between adjacent
// coordinates. at is -1 if the rank is not in the mesh.
func (p *Program) Coordinate(m *Mesh, axis, rank int64) (at, step int64) {
	position := p.Position(m, rank)
	v := p.Values()
	step = 1
	for _, extent := range m.Extents[axis+1:] {
		n, _ := v.Eval(extent)
		step *= n
	}
	if position < 0 {
		return -1, step
	}
	n, _ := v.Eval(m.Extents[axis])
	return int64(position) / step % n, step
}

// Number returns the value of a Let on a rank. ok is false if an expression has no value, if At is outside of the axis,
// or if the Let has an At and the rank is not in its mesh. Without At, the value on a rank outside of the mesh is -1.
func (p *Program) Number(l *Let, v Values, rank int64) (value int64, ok bool) {
	switch {
	case l.Mesh == "" && l.Value == nil:
		return rank, true
	case l.Mesh == "":
		return v.Eval(l.Value)
	}
	m := p.MeshNamed(l.Mesh)
	own, step := p.Coordinate(m, l.Axis, rank)
	if l.At == nil {
		return own, true
	}
	at, ok := v.Eval(l.At)
	extent, _ := v.Eval(m.Extents[l.Axis])
	if !ok || own < 0 || at < 0 || at >= extent {
		return 0, false
	}
	return p.Members(m)[int64(p.Position(m, rank))+(at-own)*step], true
}
