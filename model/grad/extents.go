package grad

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// merge is the extent of axes that become one: D and M/D are M.
func merge(axes []domain.Axis) domain.Extent {
	q := quotient{above: 1, below: 1}
	size := int64(1)
	for _, a := range axes {
		size *= a.Extent.Size
		e, err := expr.Parse(a.Extent.String())
		if err != nil {
			return domain.Extent{Size: count(axes)}
		}
		q.times(e, false)
	}
	q.cancel()
	return extent(q.String(), size)
}

// quotient is a product of expressions over another one.
type quotient struct {
	over, under  []expr.Expr // no numbers
	above, below int64
}

// times multiplies by an expression, or divides.
func (q *quotient) times(e expr.Expr, divide bool) {
	if b, ok := e.(*expr.Binary); ok && (b.Op == "*" || b.Op == "/") {
		q.times(b.X, divide)
		q.times(b.Y, divide != (b.Op == "/"))
		return
	}
	if b, ok := e.(*expr.Binary); ok && b.Op == "+" && expr.Compact(b.X) == expr.Compact(b.Y) {
		q.times(expr.Int(2), divide)
		q.times(b.X, divide)
		return
	}
	n, plain := e.(expr.Int)
	switch {
	case plain && divide:
		q.below *= int64(n)
	case plain:
		q.above *= int64(n)
	case divide:
		q.under = append(q.under, e)
	default:
		q.over = append(q.over, e)
	}
}

// cancel leaves out what is on both sides.
func (q *quotient) cancel() {
	for i := 0; i < len(q.under); {
		same := func(e expr.Expr) bool { return expr.Compact(e) == expr.Compact(q.under[i]) }
		if j := slices.IndexFunc(q.over, same); j >= 0 {
			q.over, q.under = slices.Delete(q.over, j, j+1), slices.Delete(q.under, i, i+1)
		} else {
			i++
		}
	}
	a, b := q.above, q.below
	for b != 0 {
		a, b = b, a%b
	}
	q.above, q.below = q.above/a, q.below/a
}

// String prints it: "(H+2*G)*C/D".
func (q *quotient) String() string {
	text := expr.Compact(product(q.over, q.above))
	if under := product(q.under, q.below); expr.Compact(under) != "1" {
		text = "(" + text + ")/(" + expr.Compact(under) + ")"
	}
	return text
}

// product multiplies expressions and a number.
func product(list []expr.Expr, by int64) expr.Expr {
	var result expr.Expr
	if by != 1 || len(list) == 0 {
		result = expr.Int(by)
	}
	for _, e := range list {
		if result == nil {
			result = e
		} else {
			result = &expr.Binary{Op: "*", X: result, Y: e}
		}
	}
	return result
}

// plus adds extents.
func plus(x, y domain.Extent) domain.Extent {
	if x.Size == 0 {
		return y
	}
	return extent(x.String()+"+"+y.String(), x.Size+y.Size)
}

// minus subtracts extents.
func minus(x, y domain.Extent) domain.Extent {
	if y.Size == 0 {
		return x
	}
	return extent(x.String()+"-("+y.String()+")", x.Size-y.Size)
}

// extent is an expression with its value.
func extent(text string, size int64) domain.Extent {
	e, err := expr.Parse(text)
	if err != nil {
		return domain.Extent{Size: size}
	}
	if _, plain := expr.Fold(e).(expr.Int); plain {
		return domain.Extent{Size: size}
	}
	return domain.Extent{Text: expr.Compact(e), Size: size}
}
