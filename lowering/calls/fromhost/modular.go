package fromhost

import "github.com/hirgen/hirgen/internal/expr"

// seenFrom rewrites an expression that another rank computes, so that this rank does: what the
// other one calls its rank, or its coordinate along the axis that leads to it, is that of the peer
// here. Steps to a rank and back cancel out: at (rank + s) % D, (D + rank - s) % D is the rank
// that asks, as (rank ^ s) % D is at (rank ^ s) % D.
func (b *builder) seenFrom(p peer, e expr.Expr) expr.Expr {
	theirs := map[string]expr.Expr{}
	for _, other := range b.along {
		if other.mesh != p.mesh && other.spelt != nil {
			theirs[other.name] = other.spelt
		}
	}
	e = expr.Substitute(e, theirs)
	return b.reduceModulo(expr.Substitute(e, map[string]expr.Expr{"rank": p.rank, p.here: p.coordinate}), p)
}

// reduceModulo replaces "x % m" by the shortest form where x is the coordinate here, give or take a
// variable and multiples of m, and m is the extent of the axis.
func (b *builder) reduceModulo(e expr.Expr, p peer) expr.Expr {
	binary, ok := e.(*expr.Binary)
	if !ok {
		return e
	}
	reduced := &expr.Binary{Op: binary.Op, X: b.reduceModulo(binary.X, p), Y: b.reduceModulo(binary.Y, p)}
	if binary.Op != "%" || b.value(binary.Y) != p.extent {
		return reduced
	}
	if coordinate := b.inPair(p.here, binary.X, binary.Y); coordinate != nil {
		return coordinate
	}
	terms := map[string]int64{}
	if !collect(binary.X, binary.Y.String(), 1, terms) {
		return reduced
	}
	if coordinate := fromHere(p.here, terms, binary.Y); coordinate != nil {
		return coordinate
	}
	return reduced
}

// fromHere is a coordinate, or so many steps of one variable after it or before it, modulo the
// extent of the axis; nil if terms are something else.
func fromHere(coordinate string, terms map[string]int64, extent expr.Expr) expr.Expr {
	steps := ""
	for name, count := range terms {
		switch {
		case name == coordinate && count == 1 || name != coordinate && count == 0:
		case name != coordinate && name != constant && steps == "" && (count == 1 || count == -1):
			steps = name
		default:
			return nil
		}
	}
	here := expr.Var(coordinate)
	switch {
	case terms[coordinate] != 1:
		return nil
	case steps == "":
		return here
	case terms[steps] == 1:
		return &expr.Binary{Op: "%", X: &expr.Binary{Op: "+", X: here, Y: expr.Var(steps)}, Y: extent}
	default:
		from := &expr.Binary{Op: "+", X: extent, Y: here}
		return &expr.Binary{Op: "%", X: &expr.Binary{Op: "-", X: from, Y: expr.Var(steps)}, Y: extent}
	}
}

// inPair is a coordinate where x, modulo the extent of the axis, is that coordinate with the bits of
// steps flipped and flipped back; nil if x is something else, or the extent is no power of two.
func (b *builder) inPair(coordinate string, x, extent expr.Expr) expr.Expr {
	odd := map[string]bool{}
	if n := b.value(extent); n&(n-1) != 0 || !collectBits(x, extent.String(), odd) {
		return nil
	}
	if !odd[coordinate] {
		return nil
	}
	for name, flipped := range odd {
		if flipped && name != coordinate {
			return nil
		}
	}
	return expr.Var(coordinate)
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
	v, err := expr.Eval(e, b.constantValue)
	if err != nil {
		return -1
	}
	return v
}

// constantValue is the value of a constant of the program, by its C++ name.
func (b *builder) constantValue(name string) (int64, bool) {
	for spec, value := range b.scope.Values {
		if b.scope.Names[spec] == name {
			return value, true
		}
	}
	return 0, false
}
