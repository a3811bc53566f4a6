package ranks

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// A grid is a mesh whose ranks can be computed from their coordinates: the first rank plus, for each axis, the
// coordinate times a stride. Each stride is a multiple of the next smaller one, and at least the span of the axis with
// the smaller one, so that coordinates can also be computed from the rank. The world is a grid, and so are most other
// meshes: ranks 2, 3 or 1, 3, 5 or the tiles of a larger mesh.
type grid struct {
	first int64
	axes  []stride // from the largest stride to the smallest
}

// stride is a mesh axis: its name, its extent, and the distance between adjacent ranks along it.
type stride struct {
	axis           string
	extent, stride int64
}

// newGrid returns the grid of a mesh; nil and false if the mesh is not a grid.
func newGrid(mesh *domain.Mesh) (*grid, bool) {
	g := &grid{first: int64(mesh.Ranks[0])}
	step, positions := int64(1), 1
	for _, a := range slices.Backward(mesh.Axes) {
		if a.Size > 1 {
			step = int64(mesh.Ranks[positions]) - g.first
		}
		g.axes = append(g.axes, stride{a.Name, a.Size, step})
		step, positions = step*a.Size, positions*int(a.Size)
	}
	slices.SortStableFunc(g.axes, func(a, b stride) int { return int(a.stride - b.stride) })
	for i, a := range g.axes {
		if a.stride < 1 || i > 0 && (a.stride%g.axes[i-1].stride != 0 || a.stride < g.axes[i-1].span()) {
			return nil, false
		}
	}
	slices.Reverse(g.axes)
	for position, rank := range mesh.Ranks {
		if g.rankAt(mesh, position) != int64(rank) {
			return nil, false
		}
	}
	return g, true
}

// span returns the number of ranks that an axis spans.
func (s stride) span() int64 { return s.extent * s.stride }

// rankAt returns the rank at a row-major position of the mesh.
func (g *grid) rankAt(mesh *domain.Mesh, position int) int64 {
	rank := g.first
	for _, a := range slices.Backward(mesh.Axes) {
		i := slices.IndexFunc(g.axes, func(s stride) bool { return s.axis == a.Name })
		rank += int64(position) % a.Size * g.axes[i].stride
		position /= int(a.Size)
	}
	return rank
}

// along returns this rank's coordinate along an axis, and a function that maps a coordinate to its rank: the coordinate
// times the stride, plus the contribution of the other axes. The coordinate is the rank minus the first one, modulo the
// stride of the next outer axis if there is one, divided by the stride of this axis. If the next outer stride equals the
// span of this axis, the division comes first, and then "%" with the extent as the spec writes it.
func (g *grid) along(axis string, extent expr.Expr) (coordinate expr.Expr, rank func(expr.Expr) expr.Expr) {
	axes := lists.Except(g.axes, func(s stride) bool { return s.extent == 1 && s.axis != axis })
	i := slices.IndexFunc(axes, func(s stride) bool { return s.axis == axis })
	own, offset := axes[i], expr.Expr(expr.Var("rank"))
	if g.first > 0 {
		offset = expr.Op("-", offset, expr.Int(g.first))
	}
	coordinate = offset
	var others []expr.Expr
	if i > 0 {
		outer := axes[i-1].stride
		others = append(others, expr.Op("*", Blocks(offset, outer), expr.Int(outer)))
		if outer != own.span() {
			coordinate = expr.Op("%", coordinate, expr.Int(outer))
		}
	}
	switch {
	case i+1 < len(axes):
		others = append(others, expr.Op("%", offset, expr.Int(own.stride)))
		coordinate = Blocks(coordinate, own.stride)
	case own.stride > 1:
		coordinate = expr.Op("/", coordinate, expr.Int(own.stride)) // exact: the ranks between are not in the mesh
	}
	if i > 0 && axes[i-1].stride == own.span() {
		coordinate = expr.Op("%", coordinate, extent)
	}
	if g.first > 0 {
		others = append(others, expr.Int(g.first))
	}
	return coordinate, func(coordinate expr.Expr) expr.Expr {
		if own.stride > 1 {
			coordinate = expr.Op("*", coordinate, expr.Int(own.stride))
		}
		for _, part := range others {
			coordinate = expr.Op("+", coordinate, part)
		}
		return coordinate
	}
}

// listed is like along for a mesh that is not a grid. It returns sums of comparisons with the ranks of the mesh and with
// the coordinates. At most one term of a sum is not zero.
func listed(mesh *domain.Mesh, axis string) (coordinate expr.Expr, rank func(expr.Expr) expr.Expr) {
	self := expr.Expr(expr.Var("rank"))
	coordinate = expr.Int(0)
	for _, r := range mesh.Ranks {
		coordinate = added(coordinate, self, r, expr.Int(mesh.Coordinate(r, axis)))
	}
	return coordinate, func(coordinate expr.Expr) expr.Expr {
		sum := expr.Expr(expr.Int(0))
		for _, r := range mesh.Ranks {
			team := mesh.Team(r, axis)
			if team[0] != r {
				continue // the first rank of a team represents it
			}
			var mine, there expr.Expr = expr.Int(0), expr.Int(0)
			for at, member := range team {
				mine = added(mine, self, member, expr.Int(1))
				there = added(there, coordinate, at, expr.Int(member))
			}
			if len(team) == len(mesh.Ranks) {
				return there
			}
			sum = plus(sum, expr.Op("*", mine, there))
		}
		return sum
	}
}

// added adds a term to a sum: worth if x equals value, and otherwise zero.
func added(sum, x expr.Expr, value int, worth expr.Expr) expr.Expr {
	switch worth {
	case expr.Int(0):
		return sum
	case expr.Int(1):
		return plus(sum, expr.Op("==", x, expr.Int(value)))
	default:
		return plus(sum, expr.Op("*", expr.Op("==", x, expr.Int(value)), worth))
	}
}

// plus adds two terms and omits a leading zero.
func plus(x, y expr.Expr) expr.Expr {
	if x == expr.Int(0) {
		return y
	}
	return expr.Op("+", x, y)
}
