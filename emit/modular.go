package emit

import "github.com/hirgen/hirgen/internal/expr"

// seenFrom rewrites an expression that another rank computes, so that this rank does: the
// other rank's number stands for its rank. Steps to a rank and back cancel out: at
// (rank + s) % D, (D + rank - s) % D is the rank that asks.
func (b *builder) seenFrom(peer, e expr.Expr) expr.Expr {
	return b.reduceModulo(substitute(e, b.scope.names["rank"], peer))
}

// substitute puts an expression in the place of a name.
func substitute(e expr.Expr, name string, by expr.Expr) expr.Expr {
	switch e := e.(type) {
	case expr.Var:
		if string(e) == name {
			return by
		}
		return e
	case *expr.Binary:
		return &expr.Binary{Op: e.Op, X: substitute(e.X, name, by), Y: substitute(e.Y, name, by)}
	default:
		return e
	}
}

// reduceModulo replaces "x % m" by the rank where x is the rank, give or take multiples of
// m, and m is the number of ranks.
func (b *builder) reduceModulo(e expr.Expr) expr.Expr {
	binary, ok := e.(*expr.Binary)
	if !ok {
		return e
	}
	reduced := &expr.Binary{Op: binary.Op, X: b.reduceModulo(binary.X), Y: b.reduceModulo(binary.Y)}
	if binary.Op != "%" || b.value(binary.Y) != int64(b.program.Meshes[0].Size()) {
		return reduced
	}
	terms := map[string]int64{}
	if !collect(binary.X, binary.Y.String(), 1, terms) {
		return reduced
	}
	rank := b.scope.names["rank"]
	for name, count := range terms {
		if name == rank && count != 1 || name != rank && count != 0 {
			return reduced
		}
	}
	if terms[rank] == 1 {
		return expr.Var(rank)
	}
	return reduced
}

// collect adds up the names of a sum, each as often as it stands there; the modulus, and
// further reductions by it, count for nothing. It reports whether e is such a sum.
func collect(e expr.Expr, modulus string, sign int64, terms map[string]int64) bool {
	if e.String() == modulus {
		return true
	}
	switch e := e.(type) {
	case expr.Var:
		terms[string(e)] += sign
		return true
	case *expr.Binary:
		switch {
		case e.Op == "+":
			return collect(e.X, modulus, sign, terms) && collect(e.Y, modulus, sign, terms)
		case e.Op == "-":
			return collect(e.X, modulus, sign, terms) && collect(e.Y, modulus, -sign, terms)
		case e.Op == "%" && e.Y.String() == modulus:
			return collect(e.X, modulus, sign, terms)
		}
	}
	return false
}

// value computes an expression of C++ names over the program's constants; -1 if it varies.
func (b *builder) value(e expr.Expr) int64 {
	v, err := expr.Eval(e, func(name string) (int64, bool) {
		for spec, value := range b.scope.values {
			if b.scope.names[spec] == name {
				return value, true
			}
		}
		return 0, false
	})
	if err != nil {
		return -1
	}
	return v
}
