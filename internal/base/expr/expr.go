// Package expr parses, evaluates and simplifies the integer expressions of specs (extents over parameters) and of host
// and call programs (peers and indices over the rank and loop variables).
//
//	expr = expr ("+" | "-") expr | expr ("*" | "/" | "%") expr | expr ("==" | "!=") expr
//	     | "(" expr ")" | name | integer
//
// Products bind more tightly than sums, and sums more tightly than comparisons. All operators associate to the left. Host
// and call programs also have x < y, x >= y and x ^ y (XOR). As in C++, "^" binds less tightly than all others. Its
// operands are printed in parentheses unless they are names or numbers. Specs do not have "^", because a reader would take
// it for a power.
//
// Division must be exact. "%" takes the sign of the divisor, so (r - s) % d is a rank. Overflow is an error and never
// wraps.
package expr

// Expr is a parsed expression. It is immutable.
type Expr interface {
	// String prints the expression with the fewest parentheses, except around
	// operands of "^". ParseHost reads it back, and it has the syntax of C++.
	String() string
	isExpr()
}

// Int is an integer literal, possibly negative.
type Int int64

// Var is a name.
type Var string

// Binary is an operation on two expressions.
type Binary struct {
	Op   string // "+", "-", "*", "/", "%", "==", "!=", "<", ">=", "^"
	X, Y Expr
}

func (Int) isExpr()     {}
func (Var) isExpr()     {}
func (*Binary) isExpr() {}
