// Package extents represents numbers of elements, ranks and iterations together with the expressions that the emitted
// program shows.
package extents

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// A Quantity is a number of elements, ranks or iterations, as a value and as an expression. The expression is over the
// program's constants, and the emitted program shows it.
type Quantity struct {
	Expr expr.Expr
	Size int64
}

// String prints the expression.
func (q Quantity) String() string { return q.Expr.String() }

// Value returns the number.
func (q Quantity) Value() int64 { return q.Size }

// IsOne reports whether the value is 1. The expression may be longer, such as "D / D".
func (q Quantity) IsOne() bool { return q.Size == 1 }

// Number returns the quantity of a literal number.
func Number(n int64) Quantity { return Quantity{expr.Int(n), n} }

// Times multiplies quantities. It multiplies literal numbers and omits ones, so that the expression is short. It panics
// with ErrOverflow if a product does not fit in 64 bits; package fromhost turns the panic into an error.
func Times(factors ...Quantity) Quantity {
	literal, size := int64(1), int64(1)
	var product expr.Expr
	for _, f := range factors {
		size = MustMultiply(size, f.Size)
		for _, e := range expr.Factors(f.Expr) {
			n, plain := e.(expr.Int)
			switch {
			case plain:
				literal = MustMultiply(literal, int64(n))
			case product == nil:
				product = e
			default:
				product = &expr.Binary{Op: "*", X: product, Y: e}
			}
		}
	}
	switch {
	case product == nil:
		return Quantity{expr.Int(literal), size}
	case literal == 1:
		return Quantity{product, size}
	default:
		return Quantity{&expr.Binary{Op: "*", X: product, Y: expr.Int(literal)}, size}
	}
}

// Plus adds quantities, and omits an operand that is zero.
func Plus(x, y Quantity) Quantity {
	switch {
	case x.Size == 0:
		return y
	case y.Size == 0:
		return x
	}
	return Quantity{expr.Fold(&expr.Binary{Op: "+", X: x.Expr, Y: y.Expr}), x.Size + y.Size}
}

// Divided divides q by a quantity that divides it. If by is a factor of q, it removes this factor.
func Divided(q, by Quantity) Quantity {
	factors := expr.Factors(q.Expr)
	for i, f := range factors {
		if f.String() != by.String() {
			continue
		}
		rest := Number(1)
		for _, e := range slices.Delete(factors, i, i+1) {
			rest = Times(rest, Quantity{e, 1})
		}
		return Quantity{rest.Expr, q.Size / by.Size}
	}
	return Quantity{expr.Fold(&expr.Binary{Op: "/", X: q.Expr, Y: by.Expr}), q.Size / by.Size}
}

// Together multiplies a part of an extent by the number of parts, and simplifies the result: "K / D" and "D" give "K".
func Together(parts, count Quantity) Quantity {
	factors := expr.Factors(parts.Expr)
	for i, f := range factors {
		part, ok := f.(*expr.Binary)
		if !ok || part.Op != "/" || part.Y.String() != count.String() {
			continue
		}
		whole := Number(1)
		for j, e := range factors {
			if j == i {
				e = part.X
			}
			whole = Times(whole, Quantity{e, 1})
		}
		return Quantity{whole.Expr, MustMultiply(parts.Size, count.Size)}
	}
	return Times(parts, count)
}

// ErrOverflow is the panic value of Times, Together and MustMultiply.
type ErrOverflow struct{}

// MustMultiply multiplies numbers that are not negative. It panics with ErrOverflow if the product does not fit in 64
// bits.
func MustMultiply(a, b int64) int64 {
	if a != 0 && (b > math.MaxInt64/a || b < 0 || a < 0) {
		panic(ErrOverflow{})
	}
	return a * b
}

// Scope translates extents and expressions of the spec and the host IR to names of the emitted program.
type Scope struct {
	Values map[string]int64  // by name of a parameter in the spec
	Names  map[string]string // name in the spec or host IR -> name in the calls
	Parts  *Parts            // the names of parts of extents; nil: parts have no names
}

// Extent returns the quantity of an extent. It keeps the expression in the extent's text if that still evaluates to the
// extent's size. Otherwise it uses the number.
func (s *Scope) Extent(e domain.Extent) Quantity {
	parsed, err := expr.Parse(e.Text)
	if e.Text == "" || err != nil {
		return Number(e.Size)
	}
	value, err := expr.Eval(parsed, func(name string) (int64, bool) {
		v, ok := s.Values[name]
		return v, ok
	})
	if err != nil || value != e.Size {
		return Number(e.Size)
	}
	if s.Parts == nil {
		return Quantity{s.Rename(expr.Fold(parsed)), e.Size}
	}
	return Quantity{s.Parts.once(parsed, s.Shortened(s.Rename(expr.Fold(expr.Cancel(parsed)))), e.Size), e.Size}
}

// Raw returns the quantity of an extent in which parts are written as divisions, not as named constants.
func (s *Scope) Raw(e domain.Extent) Quantity {
	plain := *s
	plain.Parts = nil
	return plain.Extent(e)
}

// Local returns the extent of an axis in one rank's buffer. It is 1 for axes that are split over ranks, reduced or
// broadcast.
func (s *Scope) Local(a domain.Axis) Quantity {
	switch a.Kind {
	case domain.Device, domain.Reduction, domain.Broadcast:
		return Number(1)
	default:
		return s.Extent(a.Extent)
	}
}

// Rename replaces names of the spec and the host IR by names of the emitted program.
func (s *Scope) Rename(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(part expr.Expr) expr.Expr {
		if v, ok := part.(expr.Var); ok && s.Names[string(v)] != "" {
			return expr.Var(s.Names[string(v)])
		}
		return nil
	})
}

func isLiteral(e expr.Expr) bool {
	_, ok := e.(expr.Int)
	return ok
}
