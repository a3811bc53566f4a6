// Package ranks is about the ranks along one mesh axis, in expressions over the rank that runs: its
// coordinate, and the rank at a distance.
package ranks

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Axis is the ranks along one mesh axis, as a rank sees them: its coordinate among them, and the
// rank at another coordinate.
type Axis struct {
	Mesh       *domain.Mesh
	Name       string    // of the mesh axis
	Extent     expr.Expr // how many they are
	Size       int64     // the same
	Coordinate expr.Expr // of this rank among them
	// Rank is the rank at a coordinate.
	Rank    func(coordinate expr.Expr) expr.Expr
	Reverse bool // distances count the other way round
	Pairs   bool // distance s is to the coordinate that differs in the bits of s, in both directions
}

// Along gives the ranks along an axis of a mesh.
func Along(mesh *domain.Mesh, axis string) *Axis {
	extent := mesh.Axis(axis).Extent
	r := &Axis{Mesh: mesh, Name: axis, Extent: extent.Expr(), Size: extent.Size}
	if g, ok := newGrid(mesh); ok {
		r.Coordinate, r.Rank = g.along(axis, r.Extent)
	} else {
		r.Coordinate, r.Rank = listed(mesh, axis)
	}
	return r
}

// Blocks is how many whole blocks fit in x; division is exact.
func Blocks(x expr.Expr, block int64) expr.Expr {
	return expr.Op("/", expr.Op("-", x, expr.Op("%", x, expr.Int(block))), expr.Int(block))
}

// Offset is a distance between coordinates. Where an iteration takes width coordinates at once, they are
// adjacent: block counts blocks, and inner the coordinates within one.
type Offset struct {
	Block, Inner expr.Expr
	Width        int64 // 0 or 1: there are no blocks
}

// After is the coordinate at a distance, in the direction in which distances count.
func (r *Axis) After(d Offset) expr.Expr { return r.at(d, r.Reverse) }

// Before is the one in the other direction.
func (r *Axis) Before(d Offset) expr.Expr { return r.at(d, !r.Reverse) }

func (r *Axis) at(d Offset, back bool) expr.Expr {
	if d.Width <= 1 {
		return r.along(r.Coordinate, d.Block, r.Extent, back)
	}
	if d.Width == r.Size {
		return r.along(r.Coordinate, d.Inner, r.Extent, back)
	}
	width := expr.Int(d.Width)
	return expr.Op("+", expr.Op("*", r.BlockAt(d, back), width), r.along(r.Coordinate, d.Inner, width, back))
}

// BlockAt is the block at a distance.
func (r *Axis) BlockAt(d Offset, back bool) expr.Expr {
	return r.along(Blocks(r.Coordinate, d.Width), d.Block, expr.Int(r.Size/d.Width), back)
}

// along goes so many steps along a circle, or back, or to the other one of a pair: around is then
// a power of two, and that many steps lead back to the coordinate itself, too.
func (r *Axis) along(coordinate, steps, around expr.Expr, back bool) expr.Expr {
	switch {
	case r.Pairs:
		return expr.Op("%", expr.Op("^", coordinate, steps), around)
	case back:
		return expr.Op("%", expr.Op("-", expr.Op("+", around, coordinate), steps), around)
	}
	return expr.Op("%", expr.Op("+", coordinate, steps), around)
}
