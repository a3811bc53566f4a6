package lowering

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// ring is the ranks along one mesh axis, as a rank sees them. A rank is the sum of outer,
// its place times the stride, and inner; outer and inner are nil on a mesh that has no
// axes outside, or inside, of this one.
type ring struct {
	extent       expr.Expr // how many they are
	place        expr.Expr // of this rank among them
	stride       int64     // between the ranks of neighbours
	outer, inner expr.Expr
	reverse      bool // distances count the other way round
}

// newRing counts places by ranks; it fails where a mesh numbers its ranks otherwise.
func newRing(mesh *domain.Mesh, axis string) (*ring, bool) {
	for i, r := range mesh.Ranks {
		if i != r {
			return nil, false
		}
	}
	r := &ring{stride: 1}
	size := int64(0)
	for _, a := range mesh.Axes {
		if size > 0 {
			r.stride *= a.Extent.Size
		}
		if a.Name == axis {
			r.extent, size = extentExpr(a.Extent), a.Extent.Size
		}
	}
	rank := expr.Expr(expr.Var("rank"))
	r.place = rank
	if r.stride > 1 {
		r.inner = binary("%", rank, expr.Int(r.stride))
		r.place = blocks(rank, r.stride)
	}
	if block := size * r.stride; block < int64(len(mesh.Ranks)) {
		r.outer = binary("*", blocks(rank, block), expr.Int(block))
		r.place = binary("%", r.place, r.extent)
	}
	return r, true
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

// after is the place at a distance, in the direction in which distances count; before the one
// in the other direction.
func (r *ring) after(steps expr.Expr) expr.Expr  { return r.at(steps, r.reverse) }
func (r *ring) before(steps expr.Expr) expr.Expr { return r.at(steps, !r.reverse) }

func (r *ring) at(steps expr.Expr, back bool) expr.Expr {
	if back {
		return binary("%", binary("-", binary("+", r.extent, r.place), steps), r.extent)
	}
	return binary("%", binary("+", r.place, steps), r.extent)
}

// rank is the world rank at a place of the ring.
func (r *ring) rank(place expr.Expr) expr.Expr {
	if r.stride > 1 {
		place = binary("*", place, expr.Int(r.stride))
	}
	for _, part := range []expr.Expr{r.outer, r.inner} {
		if part != nil {
			place = binary("+", place, part)
		}
	}
	return place
}

// transports gives the backend of each transport of a schedule.
var transports = map[string]hostir.Backend{"nccl": hostir.NCCL, "ipc-get": hostir.IPCGet, "ipc-put": hostir.IPCPut}
