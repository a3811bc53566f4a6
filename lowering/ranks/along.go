// Package ranks computes ranks along one mesh axis, as expressions over the executing rank: its coordinate, and the
// rank at a distance.
package ranks

import (
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Axis describes the ranks along one mesh axis as expressions over the executing rank: its coordinate, and the rank at
// another coordinate.
type Axis struct {
	Mesh       *domain.Mesh
	Name       string    // name of the mesh axis
	Extent     expr.Expr // the number of ranks, as an expression
	Size       int64     // the number of ranks
	Coordinate expr.Expr // the coordinate of the executing rank along the axis, from 0
	// Rank returns the rank at a coordinate.
	Rank  func(coordinate expr.Expr) expr.Expr
	Order string // the order of steps, a value of schedule.Steps: pairwise, reverse or, for any other value, ascending
}

// Along returns the ranks along an axis of a mesh.
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

// Blocks returns the expression (x - x % block) / block: x divided by block, rounded down. Divisions in expressions
// must be exact.
func Blocks(x expr.Expr, block int64) expr.Expr {
	return expr.Op("/", expr.Op("-", x, expr.Op("%", x, expr.Int(block))), expr.Int(block))
}

// Offset is a distance between coordinates. If an iteration takes Width adjacent coordinates at once, Block counts such
// blocks, and Inner counts coordinates in a block.
type Offset struct {
	Block, Inner expr.Expr
	Width        int64 // 0 or 1: there are no blocks, and Block counts coordinates
}

// After returns the coordinate at distance d after this rank's, in the order of the steps.
func (r *Axis) After(d Offset) expr.Expr { return r.at(d, false) }

// Before returns the coordinate at distance d before this rank's, in the order of the steps.
func (r *Axis) Before(d Offset) expr.Expr { return r.at(d, true) }

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

// BlockAt returns the index of the block at a distance after this rank's block; with back, of the block at that distance before
// it.
func (r *Axis) BlockAt(d Offset, back bool) expr.Expr {
	return r.along(Blocks(r.Coordinate, d.Width), d.Block, expr.Int(r.Size/d.Width), back)
}

// along returns the coordinate that is steps after the given one, modulo around. With back, or in the order reverse, it
// is steps before; with both, it is steps after. In pairwise order along returns (coordinate XOR steps) % around.
// around is then a power of two, and steps == around gives the coordinate itself.
func (r *Axis) along(coordinate, steps, around expr.Expr, back bool) expr.Expr {
	switch {
	case r.Order == schedule.Pairwise:
		return expr.Op("%", expr.Op("^", coordinate, steps), around)
	case back != (r.Order == schedule.Reverse):
		return expr.Op("%", expr.Op("-", expr.Op("+", around, coordinate), steps), around)
	}
	return expr.Op("%", expr.Op("+", coordinate, steps), around)
}
