package emit

import "github.com/hirgen/hirgen/internal/expr"

// seenFrom rewrites an expression that another rank computes, so that this rank does: the
// other rank's number stands for its rank. Steps to a rank and back cancel out: at
// (rank + s) % D, (D + rank - s) % D is the rank that asks, as (rank ^ s) % D is at (rank ^ s) % D.
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

// reduceModulo replaces "x % m" by the shortest form where x is the rank, give or take a
// variable and multiples of m, and m is the number of ranks.
func (b *builder) reduceModulo(e expr.Expr) expr.Expr {
	binary, ok := e.(*expr.Binary)
	if !ok {
		return e
	}
	reduced := &expr.Binary{Op: binary.Op, X: b.reduceModulo(binary.X), Y: b.reduceModulo(binary.Y)}
	if binary.Op != "%" || b.value(binary.Y) != int64(b.program.Meshes[0].Size()) {
		return reduced
	}
	if place := b.inPair(binary.X, binary.Y); place != nil {
		return place
	}
	terms := map[string]int64{}
	if !collect(binary.X, binary.Y.String(), 1, terms) {
		return reduced
	}
	if place := b.fromRank(terms, binary.Y); place != nil {
		return place
	}
	return reduced
}

// fromRank is the place of this rank, or so many steps of one variable after it or before it,
// modulo the number of ranks; nil if terms are something else.
func (b *builder) fromRank(terms map[string]int64, ranks expr.Expr) expr.Expr {
	rank, steps := b.scope.names["rank"], ""
	for name, count := range terms {
		switch {
		case name == rank && count == 1 || name != rank && count == 0:
		case name != rank && name != constant && steps == "" && (count == 1 || count == -1):
			steps = name
		default:
			return nil
		}
	}
	here := expr.Var(rank)
	switch {
	case terms[rank] != 1:
		return nil
	case steps == "":
		return here
	case terms[steps] == 1:
		return &expr.Binary{Op: "%", X: &expr.Binary{Op: "+", X: here, Y: expr.Var(steps)}, Y: ranks}
	default:
		from := &expr.Binary{Op: "+", X: ranks, Y: here}
		return &expr.Binary{Op: "%", X: &expr.Binary{Op: "-", X: from, Y: expr.Var(steps)}, Y: ranks}
	}
}

// inPair is the place of this rank where x, modulo so many ranks, is the rank with the bits of
// steps flipped and flipped back; nil if x is something else, or ranks no power of two.
func (b *builder) inPair(x, ranks expr.Expr) expr.Expr {
	rank, odd := b.scope.names["rank"], map[string]bool{}
	if n := b.value(ranks); n&(n-1) != 0 || !collectBits(x, ranks.String(), odd) {
		return nil
	}
	if !odd[rank] {
		return nil
	}
	for name, flipped := range odd {
		if flipped && name != rank {
			return nil
		}
	}
	return expr.Var(rank)
}

// collectBits notes which names stand in x ^ y ^ ... an odd number of times; reductions by the
// modulus, a power of two, count for nothing. It reports whether e is such an expression.
func collectBits(e expr.Expr, modulus string, odd map[string]bool) bool {
	switch e := e.(type) {
	case expr.Var:
		odd[string(e)] = !odd[string(e)]
		return true
	case *expr.Binary:
		switch {
		case e.Op == "^":
			return collectBits(e.X, modulus, odd) && collectBits(e.Y, modulus, odd)
		case e.Op == "%" && e.Y.String() == modulus:
			return collectBits(e.X, modulus, odd)
		}
	}
	return false
}

// constant is what collect counts numbers under.
const constant = ""

// collect adds up the names of a sum, each as often as it stands there, and its numbers; the
// modulus, and further reductions by it, count for nothing. It reports whether e is such a sum.
func collect(e expr.Expr, modulus string, sign int64, terms map[string]int64) bool {
	if e.String() == modulus {
		return true
	}
	switch e := e.(type) {
	case expr.Int:
		terms[constant] += sign * int64(e)
		return true
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
