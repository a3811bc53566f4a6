package fromhost

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A host program uses expressions over the rank for coordinates along mesh axes, and for the ranks at coordinates. The
// emitted program looks both up in the mesh, unless coordinates equal ranks, as in a world with one axis. To find out
// whether an expression is a coordinate, the builder evaluates it for every rank of the mesh.

// coordinate is this rank's coordinate along an axis of a mesh, as a variable of the emitted program.
type coordinate struct {
	mesh  *domain.Mesh
	axis  int
	name  string
	spelt expr.Expr // the expression that the host program uses for it; nil: none
	used  bool
}

// peer is the rank at the other side of a transfer. If the builder cannot find a coordinate of the rank, mesh is nil,
// and coordinate and here are world ranks.
type peer struct {
	rank       expr.Expr // the expression in the host program
	mesh       *domain.Mesh
	axis       int
	here       string    // the name of this rank's coordinate along the axis
	coordinate expr.Expr // the coordinate of the peer along the axis
	extent     int64     // the number of coordinates along the axis
	asked      bool      // the emitted program looks up the peer's rank in the mesh
}

// meshOf returns the mesh of a tensor; if it has none, the world.
func (b *builder) meshOf(t *hostir.Tensor) *domain.Mesh {
	if t.Mesh == nil {
		return b.program.Meshes[0]
	}
	return t.Mesh
}

// inOrder reports whether a mesh has one axis, and the coordinate of each rank along it is the rank's number.
func inOrder(m *domain.Mesh) bool {
	for i, r := range m.Ranks {
		if i != r {
			return false
		}
	}
	return len(m.Axes) == 1
}

// coordinateAt returns the coordinate along an axis at a row-major position in a mesh, and the difference of positions
// between adjacent coordinates.
func coordinateAt(m *domain.Mesh, axis, position int) (coordinate, step int) {
	step = 1
	for _, a := range m.Axes[axis+1:] {
		step *= int(a.Size)
	}
	return position / step % int(m.Axes[axis].Size), step
}

// withCoordinates replaces parts of an expression by the names of this rank's coordinates in a mesh. The result is
// valid only on the ranks of the mesh.
func (b *builder) withCoordinates(m *domain.Mesh, e expr.Expr) expr.Expr {
	binary, ok := e.(*expr.Binary)
	if !ok || inOrder(m) {
		return e
	}
	key := fmt.Sprintf("%p %s", m, e)
	if known, ok := b.placed[key]; ok {
		return known
	}
	placed := expr.Expr(&expr.Binary{Op: binary.Op, X: b.withCoordinates(m, binary.X), Y: b.withCoordinates(m, binary.Y)})
	for axis := range m.Axes {
		if m.Axes[axis].Size > 1 && b.isCoordinate(m, axis, e) {
			p := b.coordinateAlong(m, axis)
			p.spelt, placed = e, expr.Var(p.name)
			break
		}
	}
	b.placed[key] = placed
	return placed
}

// isCoordinate reports whether an expression equals each rank's coordinate along an axis.
func (b *builder) isCoordinate(m *domain.Mesh, axis int, e expr.Expr) bool {
	for position, rank := range m.Ranks {
		want, _ := coordinateAt(m, axis, position)
		if got, err := expr.Eval(e, b.onRank(m, rank, position, 0)); err != nil || got != int64(want) {
			return false
		}
	}
	return true
}

// onRank returns a function with the values of names on a rank of a mesh. The name "?" has the value unknown.
func (b *builder) onRank(m *domain.Mesh, rank, position int, unknown int64) func(string) (int64, bool) {
	return func(name string) (int64, bool) {
		switch name {
		case "rank":
			return int64(rank), true
		case "?":
			return unknown, true
		}
		for _, p := range b.along {
			if p.name == name && p.mesh == m {
				coordinate, _ := coordinateAt(m, p.axis, position)
				return int64(coordinate), true
			}
		}
		return b.constantValue(name)
	}
}

// coordinateAlong returns this rank's coordinate along an axis. It registers the coordinate on first use.
func (b *builder) coordinateAlong(m *domain.Mesh, axis int) *coordinate {
	for _, p := range b.along {
		if p.mesh == m && p.axis == axis {
			return p
		}
	}
	p := &coordinate{mesh: m, axis: axis, name: b.coordinateName(m, axis)}
	b.along = append(b.along, p)
	return p
}

// peerOf returns the peer of a send or a receive.
func (b *builder) peerOf(s *hostir.P2PCommunication) peer {
	m := b.meshOf(s.Buffer)
	rank := b.scope.Rename(expr.Fold(s.Peer))
	if inOrder(m) {
		return peer{rank: rank, mesh: m, here: "rank", coordinate: rank, extent: m.Axes[0].Size}
	}
	key := fmt.Sprintf("%p %s", m, rank)
	if known, ok := b.peersAt[key]; ok {
		return known
	}
	found := peer{rank: rank, coordinate: rank, here: "rank", extent: int64(b.program.Meshes[0].Size())}
	for axis := range m.Axes {
		if coordinate := b.coordinateIn(m, axis, rank, rank); coordinate != nil {
			here := b.coordinateAlong(m, axis).name
			found = peer{
				rank: rank, mesh: m, axis: axis, here: here, coordinate: b.withCoordinates(m, coordinate), extent: m.Axes[axis].Size,
				asked: true,
			}
			break
		}
	}
	b.peersAt[key] = found
	return found
}

// coordinateIn finds a part of a rank's expression that is its coordinate along an axis: if another coordinate replaces
// this part, the expression is the rank at that coordinate. The result is nil if there is no such part.
func (b *builder) coordinateIn(m *domain.Mesh, axis int, rank, part expr.Expr) expr.Expr {
	binary, ok := part.(*expr.Binary)
	if !ok {
		return nil
	}
	extent := m.Axes[axis].Size
	if most, ok := b.most(part); ok && most == extent-1 && b.isRankAt(m, axis, expr.Replace(rank, part.String(), expr.Var("?"))) {
		return part
	}
	if found := b.coordinateIn(m, axis, rank, binary.X); found != nil {
		return found
	}
	return b.coordinateIn(m, axis, rank, binary.Y)
}

// isRankAt reports whether an expression is, on every rank of a mesh, the rank at the coordinate "?" of the line
// through this rank along an axis.
func (b *builder) isRankAt(m *domain.Mesh, axis int, e expr.Expr) bool {
	for position, rank := range m.Ranks {
		own, step := coordinateAt(m, axis, position)
		for coordinate := range int(m.Axes[axis].Size) {
			want := m.Ranks[position+(coordinate-own)*step]
			if got, err := expr.Eval(e, b.onRank(m, rank, position, int64(coordinate))); err != nil || got != int64(want) {
				return false
			}
		}
	}
	return true
}

// most returns an upper bound of a non-negative expression. ok is false if the form of the expression gives none.
func (b *builder) most(e expr.Expr) (value int64, ok bool) {
	if v := b.value(e); v >= 0 {
		return v, true
	}
	binary, ok := e.(*expr.Binary)
	if !ok {
		return 0, false
	}
	if binary.Op == "%" {
		modulus := b.value(binary.Y)
		return modulus - 1, modulus > 0
	}
	x, xOK := b.most(binary.X)
	y, yOK := b.most(binary.Y)
	switch {
	case !xOK || !yOK:
		return 0, false
	case binary.Op == "+":
		return x + y, true
	case binary.Op == "*":
		return expr.Mul(x, y)
	default:
		return 0, false
	}
}

// usedCoordinates declares the coordinates that the program uses.
func (b *builder) usedCoordinates() []calls.Stmt {
	var list []calls.Stmt
	for _, p := range b.along {
		if p.used {
			list = append(list, &calls.Let{Name: p.name, Mesh: b.meshes[p.mesh], Axis: int64(p.axis)})
		}
	}
	return list
}
