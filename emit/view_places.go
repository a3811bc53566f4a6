package emit

import (
	"fmt"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A host program computes places along mesh axes, and the ranks at places, from the rank. The
// emitted program asks the mesh for both, unless they are ranks already, as in a row of all
// ranks. What asks for what is found by computing it for every rank of the mesh, so that it
// does not matter how the host program spells it.

// place is this rank's place along an axis of a mesh, as a variable of the emitted program.
type place struct {
	mesh  *domain.Mesh
	axis  int
	name  string
	spelt expr.Expr // how the host program computes it, if it does
	used  bool
}

// peer is the rank that a transfer is with.
type peer struct {
	rank   expr.Expr // as the host program computes it
	mesh   *domain.Mesh
	axis   int
	here   string    // this rank's place along the axis: a C++ name
	place  expr.Expr // the peer's
	extent int64     // of the axis
	asked  bool      // the emitted program asks the mesh for the rank at the place
}

// placeNode declares a place.
type placeNode struct {
	Name, Mesh string
	Axis       int
}

func (*placeNode) template() string { return "stmt/place" }

// meshOf is the mesh of a tensor: the world where it names none.
func (b *builder) meshOf(t *hostir.Tensor) *domain.Mesh {
	if t.Mesh == nil {
		return b.program.Meshes[0]
	}
	return t.Mesh
}

// inOrder reports whether a mesh has one axis, along which the places are the ranks.
func inOrder(m *domain.Mesh) bool {
	for i, r := range m.Ranks {
		if i != r {
			return false
		}
	}
	return len(m.Axes) == 1
}

// coordinateAt is the place along an axis of a row-major position in a mesh, and how far apart
// the positions of neighbours are.
func coordinateAt(m *domain.Mesh, axis, position int) (place, step int) {
	step = 1
	for _, a := range m.Axes[axis+1:] {
		step *= int(a.Extent.Size)
	}
	return position / step % int(m.Axes[axis].Extent.Size), step
}

// inPlaces puts this rank's places along the axes of a mesh where an expression of C++ names
// computes them. It holds on the ranks of the mesh.
func (b *builder) inPlaces(m *domain.Mesh, e expr.Expr) expr.Expr {
	binary, ok := e.(*expr.Binary)
	if !ok || inOrder(m) {
		return e
	}
	key := fmt.Sprintf("%p %s", m, e)
	if known, ok := b.placed[key]; ok {
		return known
	}
	placed := expr.Expr(&expr.Binary{Op: binary.Op, X: b.inPlaces(m, binary.X), Y: b.inPlaces(m, binary.Y)})
	for axis := range m.Axes {
		if m.Axes[axis].Extent.Size > 1 && b.isPlace(m, axis, e) {
			p := b.placeAlong(m, axis)
			p.spelt, placed = e, expr.Var(p.name)
			break
		}
	}
	b.placed[key] = placed
	return placed
}

// isPlace reports whether an expression is each rank's place along an axis.
func (b *builder) isPlace(m *domain.Mesh, axis int, e expr.Expr) bool {
	for position, rank := range m.Ranks {
		want, _ := coordinateAt(m, axis, position)
		if got, err := expr.Eval(e, b.onRank(m, rank, position, 0)); err != nil || got != int64(want) {
			return false
		}
	}
	return true
}

// onRank gives names the values that they have on a rank of a mesh, and "?" the given one.
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
				place, _ := coordinateAt(m, p.axis, position)
				return int64(place), true
			}
		}
		return b.constantValue(name)
	}
}

// placeAlong declares this rank's place along an axis, once.
func (b *builder) placeAlong(m *domain.Mesh, axis int) *place {
	for _, p := range b.along {
		if p.mesh == m && p.axis == axis {
			return p
		}
	}
	p := &place{mesh: m, axis: axis, name: b.coordinateName(m, axis)}
	b.along = append(b.along, p)
	return p
}

// peerOf finds the rank that a transfer is with, and its place.
func (b *builder) peerOf(s *hostir.P2PCommunication) peer {
	m := b.meshOf(s.Buffer)
	rank := b.scope.rename(fold(s.Peer))
	if inOrder(m) {
		return peer{rank: rank, mesh: m, here: "rank", place: rank, extent: m.Axes[0].Extent.Size}
	}
	key := fmt.Sprintf("%p %s", m, rank)
	if known, ok := b.peersAt[key]; ok {
		return known
	}
	found := peer{rank: rank, place: rank, here: "rank", extent: int64(b.program.Meshes[0].Size())}
	for axis := range m.Axes {
		if place := b.placeIn(m, axis, rank, rank); place != nil {
			here := b.placeAlong(m, axis).name
			found = peer{
				rank: rank, mesh: m, axis: axis, here: here, place: b.inPlaces(m, place), extent: m.Axes[axis].Extent.Size, asked: true,
			}
			break
		}
	}
	b.peersAt[key] = found
	return found
}

// placeIn finds the part of a rank's expression that is its place along an axis: with any other
// place in its stead, the expression is the rank there. It is nil if there is none.
func (b *builder) placeIn(m *domain.Mesh, axis int, rank, part expr.Expr) expr.Expr {
	binary, ok := part.(*expr.Binary)
	if !ok {
		return nil
	}
	extent := m.Axes[axis].Extent.Size
	if most, ok := b.most(part); ok && most == extent-1 && b.isRankAt(m, axis, replaced(rank, part.String(), expr.Var("?"))) {
		return part
	}
	if found := b.placeIn(m, axis, rank, binary.X); found != nil {
		return found
	}
	return b.placeIn(m, axis, rank, binary.Y)
}

// isRankAt reports whether an expression is, for every rank, the one at the place "?" along an axis.
func (b *builder) isRankAt(m *domain.Mesh, axis int, e expr.Expr) bool {
	for position, rank := range m.Ranks {
		own, step := coordinateAt(m, axis, position)
		for place := range int(m.Axes[axis].Extent.Size) {
			want := m.Ranks[position+(place-own)*step]
			if got, err := expr.Eval(e, b.onRank(m, rank, position, int64(place))); err != nil || got != int64(want) {
				return false
			}
		}
	}
	return true
}

// most is the largest value of an expression that is never negative, where its form tells.
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

// replaced puts an expression in the place of those that are printed like text.
func replaced(e expr.Expr, text string, by expr.Expr) expr.Expr {
	if e.String() == text {
		return by
	}
	if e, ok := e.(*expr.Binary); ok {
		return &expr.Binary{Op: e.Op, X: replaced(e.X, text, by), Y: replaced(e.Y, text, by)}
	}
	return e
}

// usedPlaces declares the places that the program uses.
func (b *builder) usedPlaces() []node {
	var nodes []node
	for _, p := range b.along {
		if p.used {
			nodes = append(nodes, &placeNode{p.name, b.meshes[p.mesh], p.axis})
		}
	}
	return nodes
}
