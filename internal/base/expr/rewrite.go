package expr

// Rewrite replaces parts of an expression, from the root down. f returns the replacement of a part, or nil to visit its
// operands.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if by := f(e); by != nil {
		return by
	}
	if b, ok := e.(*Binary); ok {
		return &Binary{Op: b.Op, X: Rewrite(b.X, f), Y: Rewrite(b.Y, f)}
	}
	return e
}

// Substitute replaces the names in by with their expressions. Other names stay.
func Substitute(e Expr, by map[string]Expr) Expr {
	return Rewrite(e, func(part Expr) Expr {
		if v, ok := part.(Var); ok {
			return by[string(v)]
		}
		return nil
	})
}

// Replace replaces each part whose String is text.
func Replace(e Expr, text string, by Expr) Expr {
	return Rewrite(e, func(part Expr) Expr {
		if part.String() == text {
			return by
		}
		return nil
	})
}

// Variables calls visit for every occurrence of a name in an expression, which may be nil.
func Variables(e Expr, visit func(string)) {
	switch e := e.(type) {
	case Var:
		visit(string(e))
	case *Binary:
		Variables(e.X, visit)
		Variables(e.Y, visit)
	}
}

// Mentions reports whether an expression, which may be nil, depends on a variable.
func Mentions(e Expr, variable string) bool {
	found := false
	Variables(e, func(name string) { found = found || name == variable })
	return found
}

// Fold evaluates parts without names, unless they have an error, and simplifies other parts as withoutUnits does.
// This also protects printed C++, where a product of two literals has type int, which may overflow.
func Fold(e Expr) Expr {
	b, ok := e.(*Binary)
	if !ok {
		return e
	}
	folded := &Binary{Op: b.Op, X: Fold(b.X), Y: Fold(b.Y)}
	if simple := withoutUnits(folded); simple != nil {
		return simple
	}
	_, x := folded.X.(Int)
	_, y := folded.Y.(Int)
	if !x || !y {
		return folded
	}
	value, err := Eval(folded, func(string) (int64, bool) { return 0, false })
	if err != nil {
		return folded
	}
	return Int(value)
}

// withoutUnits simplifies an operation with a factor, divisor or modulus of 1, or a term of 0. It returns nil for other
// operations, and for 0 - x.
func withoutUnits(b *Binary) Expr {
	switch {
	case b.Y == Int(1) && (b.Op == "*" || b.Op == "/"), b.Y == Int(0) && (b.Op == "+" || b.Op == "-"):
		return b.X
	case b.X == Int(1) && b.Op == "*", b.X == Int(0) && b.Op == "+":
		return b.Y
	case b.Y == Int(1) && b.Op == "%":
		return Int(0)
	}
	return nil
}

// Op returns an operation on two expressions.
func Op(op string, x, y Expr) Expr { return &Binary{Op: op, X: x, Y: y} }

// Factors lists the factors of a product, or the expression itself if it is no product.
func Factors(e Expr) []Expr {
	if b, ok := e.(*Binary); ok && b.Op == "*" {
		return append(Factors(b.X), Factors(b.Y)...)
	}
	return []Expr{e}
}

// Sum returns the sum of two expressions. If one is nil, it returns the other.
func Sum(x, y Expr) Expr {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	default:
		return &Binary{Op: "+", X: x, Y: y}
	}
}
