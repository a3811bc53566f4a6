package lowering

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// ring is the ranks along one mesh axis, as a rank sees them: its coordinate among them, and the
// rank at another coordinate.
type ring struct {
	mesh       *domain.Mesh
	axis       string
	extent     expr.Expr // how many they are
	size       int64     // the same
	coordinate expr.Expr // of this rank among them
	rank       func(coordinate expr.Expr) expr.Expr
	reverse    bool // distances count the other way round
	pairs      bool // distance s is to the coordinate that differs in the bits of s, in both directions
}

// newRing makes the ring of the ranks along an axis.
func newRing(mesh *domain.Mesh, axis string) *ring {
	extent := mesh.Axis(axis).Extent
	r := &ring{mesh: mesh, axis: axis, extent: extentExpr(extent), size: extent.Size}
	if g, ok := newGrid(mesh); ok {
		r.coordinate, r.rank = g.along(axis, r.extent)
	} else {
		r.coordinate, r.rank = listed(mesh, axis)
	}
	return r
}

// blocks is how many whole blocks fit in x; division is exact.
func blocks(x expr.Expr, block int64) expr.Expr {
	return binary("/", binary("-", x, binary("%", x, expr.Int(block))), expr.Int(block))
}

// extentExpr is an extent as an expression over parameters.
func extentExpr(e domain.Extent) expr.Expr {
	if parsed, err := expr.Parse(e.Text); err == nil {
		return parsed
	}
	return expr.Int(e.Size)
}

func binary(op string, x, y expr.Expr) expr.Expr { return &expr.Binary{Op: op, X: x, Y: y} }

// offset is a distance between coordinates. Where an iteration takes width coordinates at once, they are
// adjacent: block counts blocks, and inner the coordinates within one.
type offset struct {
	block, inner expr.Expr
	width        int64 // 0 or 1: there are no blocks
}

// after is the coordinate at a distance, in the direction in which distances count; before the one
// in the other direction.
func (r *ring) after(d offset) expr.Expr  { return r.at(d, r.reverse) }
func (r *ring) before(d offset) expr.Expr { return r.at(d, !r.reverse) }

func (r *ring) at(d offset, back bool) expr.Expr {
	if d.width <= 1 {
		return r.along(r.coordinate, d.block, r.extent, back)
	}
	if d.width == r.size {
		return r.along(r.coordinate, d.inner, r.extent, back)
	}
	width := expr.Int(d.width)
	return binary("+", binary("*", r.block(d, back), width), r.along(r.coordinate, d.inner, width, back))
}

// block is the block at a distance.
func (r *ring) block(d offset, back bool) expr.Expr {
	return r.along(blocks(r.coordinate, d.width), d.block, expr.Int(r.size/d.width), back)
}

// along goes so many steps along a circle, or back, or to the other one of a pair: around is then
// a power of two, and that many steps lead back to the coordinate itself, too.
func (r *ring) along(coordinate, steps, around expr.Expr, back bool) expr.Expr {
	switch {
	case r.pairs:
		return binary("%", binary("^", coordinate, steps), around)
	case back:
		return binary("%", binary("-", binary("+", around, coordinate), steps), around)
	}
	return binary("%", binary("+", coordinate, steps), around)
}

// via is what carries the transfers of a communication: along an axis from node to node, NCCL.
func (c *slicer) via(s hostir.Stmt) string {
	if c.ring.axis == c.lowering.program.Choices.Get(schedule.Nodes) {
		return schedule.NCCL
	}
	return c.lowering.choice(s, schedule.Via)
}

// backends gives that of each value of via.
var backends = map[string]hostir.Backend{schedule.NCCL: hostir.NCCL, schedule.IPCGet: hostir.IPCGet, schedule.IPCPut: hostir.IPCPut}
