package fromhost

import "github.com/hirgen/hirgen/internal/base/expr"

// seenFrom rewrites an expression of another rank p so that this rank can compute it. It replaces the other rank's
// number by p.rank, and the other rank's coordinate by p.coordinate. Steps to a rank and back cancel out. For example,
// at rank (rank + s) % D, the expression (D + rank - s) % D becomes the number of this rank. The same is true for (rank
// ^ s) % D at rank (rank ^ s) % D.
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

// reduceModulo replaces "x % m" by a shorter form, if m is the extent of the axis and x has one of two forms. The first
// is a sum of the coordinate here, at most one variable with either sign, and m as a term any number of times. The second
// is the coordinate, xored with variables that occur an even number of times (inPair).
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

// fromHere returns an expression for the sum of terms modulo the extent, if the sum is the coordinate, plus or minus at
// most one variable. It returns nil for other terms.
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

// inPair returns the coordinate if x, modulo the extent, is the coordinate xored with other names an even number of
// times each. It returns nil otherwise, or if the extent is not a power of two.
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

// collectBits finds the names that x ^ y ^ ... contains an odd number of times. It ignores "% modulus", which keeps the
// low bits because the modulus is a power of two. It reports whether e has this form.
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

// constant is the key in collect's terms for the sum of literal numbers.
const constant = ""

// collect counts in terms how often each name occurs in a sum, with signs, and adds up its literal numbers. It ignores
// the modulus as a term, and "% modulus". It reports whether e is such a sum.
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

// value evaluates an expression over names of the emitted program; -1 if it contains more than the program's
// parameters.
func (b *builder) value(e expr.Expr) int64 {
	v, err := expr.Eval(e, b.constantValue)
	if err != nil {
		return -1
	}
	return v
}

// constantValue returns the value of a parameter by its name in the emitted program, or false if there is none.
func (b *builder) constantValue(name string) (int64, bool) {
	for spec, value := range b.scope.Values {
		if b.scope.Names[spec] == name {
			return value, true
		}
	}
	return 0, false
}
