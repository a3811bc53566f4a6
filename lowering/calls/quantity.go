package calls

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// A quantity is a number of elements, ranks or iterations: its value, and the
// expression over the program's constants that a reader sees instead of it.
type quantity struct {
	expr expr.Expr
	size int64
}

// String prints the quantity as C++.
func (q quantity) String() string { return q.expr.String() }

// Value is the number that the quantity stands for.
func (q quantity) Value() int64 { return q.size }

// isOne reports whether the value is 1; the expression may say why ("D / D").
func (q quantity) isOne() bool { return q.size == 1 }

// number is a quantity without a name.
func number(n int64) quantity { return quantity{expr.Int(n), n} }

// times multiplies quantities. Plain numbers are folded and ones are left out, so
// that the result reads as a person would write it. It panics on overflow, which
// newProgramView turns into an error.
func times(factors ...quantity) quantity {
	literal, size := int64(1), int64(1)
	var product expr.Expr
	for _, f := range factors {
		size = mustMultiply(size, f.size)
		for _, e := range multiplied(f.expr) {
			n, plain := e.(expr.Int)
			switch {
			case plain:
				literal = mustMultiply(literal, int64(n))
			case product == nil:
				product = e
			default:
				product = &expr.Binary{Op: "*", X: product, Y: e}
			}
		}
	}
	switch {
	case product == nil:
		return quantity{expr.Int(literal), size}
	case literal == 1:
		return quantity{product, size}
	default:
		return quantity{&expr.Binary{Op: "*", X: product, Y: expr.Int(literal)}, size}
	}
}

// divided is a quantity over one that divides it.
func divided(q, by quantity) quantity {
	factors := multiplied(q.expr)
	for i, f := range factors {
		if f.String() != by.String() {
			continue
		}
		rest := number(1)
		for _, e := range slices.Delete(factors, i, i+1) {
			rest = times(rest, quantity{e, 1})
		}
		return quantity{rest.expr, q.size / by.size}
	}
	return quantity{fold(&expr.Binary{Op: "/", X: q.expr, Y: by.expr}), q.size / by.size}
}

// together multiplies quantities; so many parts of an extent are all of it ("K / D" and "D" are
// "K").
func together(parts, count quantity) quantity {
	factors := multiplied(parts.expr)
	for i, f := range factors {
		part, ok := f.(*expr.Binary)
		if !ok || part.Op != "/" || part.Y.String() != count.String() {
			continue
		}
		whole := number(1)
		for j, e := range factors {
			if j == i {
				e = part.X
			}
			whole = times(whole, quantity{e, 1})
		}
		return quantity{whole.expr, mustMultiply(parts.size, count.size)}
	}
	return times(parts, count)
}

// multiplied takes a product apart.
func multiplied(e expr.Expr) []expr.Expr {
	if b, ok := e.(*expr.Binary); ok && b.Op == "*" {
		return append(multiplied(b.X), multiplied(b.Y)...)
	}
	return []expr.Expr{e}
}

// errOverflow is what times panics with.
type errOverflow struct{}

func mustMultiply(a, b int64) int64 {
	if a != 0 && (b > math.MaxInt64/a || b < 0 || a < 0) {
		panic(errOverflow{})
	}
	return a * b
}

// scope prints expressions: it knows the program's constants, by name and value,
// and under which C++ name each variable goes.
type scope struct {
	values map[string]int64  // of the parameters
	names  map[string]string // spec or host IR name -> that of the calls
	parts  *parts            // of extents; nil: they have no names
}

// extent is the quantity of an axis. Its text is kept when it still gives the
// size that the passes left; otherwise the number speaks.
func (s *scope) extent(e domain.Extent) quantity {
	parsed, err := expr.Parse(e.Text)
	if e.Text == "" || err != nil {
		return number(e.Size)
	}
	value, err := expr.Eval(parsed, func(name string) (int64, bool) {
		v, ok := s.values[name]
		return v, ok
	})
	if err != nil || value != e.Size {
		return number(e.Size)
	}
	return quantity{s.shortened(s.rename(fold(parsed))), e.Size}
}

// raw is an extent without names for its parts.
func (s *scope) raw(e domain.Extent) quantity {
	plain := *s
	plain.parts = nil
	return plain.extent(e)
}

// local is the extent of an axis in one rank's buffer.
func (s *scope) local(a domain.Axis) quantity {
	switch a.Kind {
	case domain.Device, domain.Reduction, domain.Broadcast:
		return number(1)
	default:
		return s.extent(a.Extent)
	}
}

// rename replaces the names of the spec by those of the C++ program.
func (s *scope) rename(e expr.Expr) expr.Expr {
	switch e := e.(type) {
	case expr.Var:
		if name, ok := s.names[string(e)]; ok {
			return expr.Var(name)
		}
		return e
	case *expr.Binary:
		return &expr.Binary{Op: e.Op, X: s.rename(e.X), Y: s.rename(e.Y)}
	default:
		return e
	}
}

// fold computes what does not depend on a name. In C++ a product of two literals
// would be one of int, which overflows where ours of int64_t do not.
func fold(e expr.Expr) expr.Expr {
	b, ok := e.(*expr.Binary)
	if !ok {
		return e
	}
	folded := &expr.Binary{Op: b.Op, X: fold(b.X), Y: fold(b.Y)}
	if simple := withoutUnits(folded); simple != nil {
		return simple
	}
	if !isLiteral(folded.X) || !isLiteral(folded.Y) {
		return folded
	}
	value, err := expr.Eval(folded, func(string) (int64, bool) { return 0, false })
	if err != nil {
		return folded
	}
	return expr.Int(value)
}

// withoutUnits leaves out a factor or divisor of one and a term of zero; nil if there is none.
func withoutUnits(b *expr.Binary) expr.Expr {
	switch {
	case b.Y == expr.Int(1) && (b.Op == "*" || b.Op == "/"), b.Y == expr.Int(0) && (b.Op == "+" || b.Op == "-"):
		return b.X
	case b.X == expr.Int(1) && b.Op == "*", b.X == expr.Int(0) && b.Op == "+":
		return b.Y
	case b.Y == expr.Int(1) && b.Op == "%":
		return expr.Int(0)
	}
	return nil
}

func isLiteral(e expr.Expr) bool {
	_, ok := e.(expr.Int)
	return ok
}

// mentions reports whether name occurs in e.
func mentions(e expr.Expr, name string) bool {
	switch e := e.(type) {
	case expr.Var:
		return string(e) == name
	case *expr.Binary:
		return mentions(e.X, name) || mentions(e.Y, name)
	default:
		return false
	}
}
