// Package extents is numbers of elements, ranks and iterations with the text that a reader sees
// instead of them.
package extents

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// A Quantity is a number of elements, ranks or iterations: its value, and the
// expression over the program's constants that a reader sees instead of it.
type Quantity struct {
	Expr expr.Expr
	Size int64
}

// String prints the quantity as C++.
func (q Quantity) String() string { return q.Expr.String() }

// Value is the number that the quantity stands for.
func (q Quantity) Value() int64 { return q.Size }

// IsOne reports whether the value is 1; the expression may say why ("D / D").
func (q Quantity) IsOne() bool { return q.Size == 1 }

// Number is a quantity without a name.
func Number(n int64) Quantity { return Quantity{expr.Int(n), n} }

// Times multiplies quantities. Plain numbers are folded and ones are left out, so
// that the result reads as a person would write it. It panics on overflow, which
// newProgramView turns into an error.
func Times(factors ...Quantity) Quantity {
	literal, size := int64(1), int64(1)
	var product expr.Expr
	for _, f := range factors {
		size = MustMultiply(size, f.Size)
		for _, e := range Multiplied(f.Expr) {
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

// Plus adds quantities; what is nothing is left out.
func Plus(x, y Quantity) Quantity {
	switch {
	case x.Size == 0:
		return y
	case y.Size == 0:
		return x
	}
	return Quantity{expr.Fold(&expr.Binary{Op: "+", X: x.Expr, Y: y.Expr}), x.Size + y.Size}
}

// Divided is a quantity over one that divides it.
func Divided(q, by Quantity) Quantity {
	factors := Multiplied(q.Expr)
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

// Together multiplies quantities; so many parts of an extent are all of it ("K / D" and "D" are
// "K").
func Together(parts, count Quantity) Quantity {
	factors := Multiplied(parts.Expr)
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

// Multiplied takes a product apart.
func Multiplied(e expr.Expr) []expr.Expr {
	if b, ok := e.(*expr.Binary); ok && b.Op == "*" {
		return append(Multiplied(b.X), Multiplied(b.Y)...)
	}
	return []expr.Expr{e}
}

// ErrOverflow is what Times panics with.
type ErrOverflow struct{}

// MustMultiply panics with ErrOverflow where 64 bits do not hold a product.
func MustMultiply(a, b int64) int64 {
	if a != 0 && (b > math.MaxInt64/a || b < 0 || a < 0) {
		panic(ErrOverflow{})
	}
	return a * b
}

// Scope prints expressions: it knows the program's constants, by name and value,
// and under which C++ name each variable goes.
type Scope struct {
	Values map[string]int64  // of the parameters
	Names  map[string]string // spec or host IR name -> that of the calls
	Parts  *Parts            // of extents; nil: they have no names
}

// Extent is the quantity of an axis. Its text is kept when it still gives the
// size that the passes left; otherwise the number speaks.
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
	return Quantity{s.shortened(s.Rename(expr.Fold(parsed))), e.Size}
}

// Raw is an extent without names for its parts.
func (s *Scope) Raw(e domain.Extent) Quantity {
	plain := *s
	plain.Parts = nil
	return plain.Extent(e)
}

// Local is the extent of an axis in one rank's buffer.
func (s *Scope) Local(a domain.Axis) Quantity {
	switch a.Kind {
	case domain.Device, domain.Reduction, domain.Broadcast:
		return Number(1)
	default:
		return s.Extent(a.Extent)
	}
}

// Rename replaces the names of the spec by those of the C++ program.
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
