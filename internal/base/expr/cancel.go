package expr

import "slices"

// Cancel cancels common factors of a product's numerator and denominator, and combines equal terms of a sum. So D * (K
// / D) becomes K, and C / 2 + C / 2 becomes C. In other operations, it simplifies the operands. If e has a value, its
// divisions are exact, and the result has the same value, unless a part of the result overflows.
func Cancel(e Expr) Expr {
	b, ok := e.(*Binary)
	switch {
	case !ok:
		return e
	case b.Op == "+":
		return cancelSum(b)
	case isProduct(e):
		return cancelProduct(b)
	default:
		return &Binary{Op: b.Op, X: Cancel(b.X), Y: Cancel(b.Y)}
	}
}

// cancelSum simplifies the terms of a sum, and combines equal terms until all terms differ.
func cancelSum(b *Binary) Expr {
	type counted struct {
		term  Expr
		count int64
	}
	var all []Expr
	for _, term := range terms(b) {
		all = append(all, terms(Cancel(term))...)
	}
	var list []counted
	for _, term := range all {
		same := func(c counted) bool { return c.term.String() == term.String() }
		if i := slices.IndexFunc(list, same); i >= 0 {
			list[i].count++
			continue
		}
		list = append(list, counted{term, 1})
	}
	var sum Expr
	for _, c := range list {
		if c.count > 1 {
			c.term = Fold(&Binary{Op: "*", X: Int(c.count), Y: c.term})
		}
		sum = Sum(sum, c.term)
	}
	if len(list) < len(all) {
		return Cancel(sum)
	}
	return sum
}

// terms returns the terms of a sum, or the expression itself if it is not a sum.
func terms(e Expr) []Expr {
	if b, ok := e.(*Binary); ok && b.Op == "+" {
		return append(terms(b.X), terms(b.Y)...)
	}
	return []Expr{e}
}

// cancelProduct cancels common factors of the numerator and the denominator of a product or quotient. If there are none,
// or if times fails, it only simplifies the factors.
func cancelProduct(b *Binary) Expr {
	short := cancelFactors(b)
	q := quotient{above: 1, below: 1}
	if !q.times(short, false) || !q.cancel() {
		return short
	}
	over, under := product(q.over, q.above), product(q.under, q.below)
	if under == Int(1) {
		return over
	}
	return &Binary{Op: "/", X: over, Y: under}
}

// cancelFactors applies Cancel to each factor and each divisor of a product or quotient.
func cancelFactors(e Expr) Expr {
	if b, ok := e.(*Binary); ok && isProduct(e) {
		return &Binary{Op: b.Op, X: cancelFactors(b.X), Y: cancelFactors(b.Y)}
	}
	return Cancel(e)
}

// isProduct reports whether an expression is a product or a quotient.
func isProduct(e Expr) bool {
	b, ok := e.(*Binary)
	return ok && (b.Op == "*" || b.Op == "/")
}

// quotient is a product of expressions divided by another product.
type quotient struct {
	over, under  []Expr // factors of the numerator and denominator that are not numbers
	above, below int64  // products of the numbers of the numerator and denominator
}

// times multiplies q by an expression, or divides it. It returns false if a product of numbers overflows 64 bits or is
// not positive.
func (q *quotient) times(e Expr, divide bool) bool {
	if b, ok := e.(*Binary); ok && isProduct(e) {
		return q.times(b.X, divide) && q.times(b.Y, divide != (b.Op == "/"))
	}
	n, plain := e.(Int)
	fits := true
	switch {
	case plain && divide:
		q.below, fits = mul(q.below, int64(n))
	case plain:
		q.above, fits = mul(q.above, int64(n))
	case divide:
		q.under = append(q.under, e)
	default:
		q.over = append(q.over, e)
	}
	return fits && q.above > 0 && q.below > 0
}

// cancel removes the common factors of numerator and denominator, also the common factors of above and below. It reports
// whether it removed any.
func (q *quotient) cancel() bool {
	before := len(q.under)
	q.under = slices.DeleteFunc(q.under, func(divisor Expr) bool {
		i := slices.IndexFunc(q.over, func(e Expr) bool { return e.String() == divisor.String() })
		if i >= 0 {
			q.over = slices.Delete(q.over, i, i+1)
		}
		return i >= 0
	})
	common, rest := q.above, q.below
	for rest != 0 {
		common, rest = rest, common%rest
	}
	q.above, q.below = q.above/common, q.below/common
	return len(q.under) < before || common > 1
}

// product returns the product of expressions and a number, which comes last and is left out if it is 1. Without
// expressions it returns the number.
func product(list []Expr, by int64) Expr {
	var result Expr
	for _, e := range list {
		if result == nil {
			result = e
			continue
		}
		result = &Binary{Op: "*", X: result, Y: e}
	}
	switch {
	case result == nil:
		return Int(by)
	case by == 1:
		return result
	}
	return &Binary{Op: "*", X: result, Y: Int(by)}
}
