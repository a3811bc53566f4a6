package expr

// Rewrite replaces parts of an expression, from the whole down: f gives what stands in place of one,
// or nil where its operands are to be looked at.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if by := f(e); by != nil {
		return by
	}
	if b, ok := e.(*Binary); ok {
		return &Binary{Op: b.Op, X: Rewrite(b.X, f), Y: Rewrite(b.Y, f)}
	}
	return e
}

// Substitute puts expressions for names.
func Substitute(e Expr, by map[string]Expr) Expr {
	return Rewrite(e, func(part Expr) Expr {
		if v, ok := part.(Var); ok {
			return by[string(v)]
		}
		return nil
	})
}

// Replace puts an expression instead of those that are printed like text.
func Replace(e Expr, text string, by Expr) Expr {
	return Rewrite(e, func(part Expr) Expr {
		if part.String() == text {
			return by
		}
		return nil
	})
}

// Variables calls visit for every name in an expression, which may be nil.
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

// Fold computes what does not depend on a name, and leaves out ones and zeros that change nothing. In
// C++ a product of two literals would be one of int, which overflows where ours of int64_t do not.
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

// withoutUnits leaves out a factor or divisor of one and a term of zero; nil if there is none.
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

// Op applies an operator.
func Op(op string, x, y Expr) Expr { return &Binary{Op: op, X: x, Y: y} }

// Sum adds two expressions, either of which may be absent.
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
