// Package expr parses, evaluates and simplifies the integer expressions of specs (extents over parameters) and of host
// programs (peers and indices over the rank and loop variables).
//
//	expr = expr ("+" | "-") expr | expr ("*" | "/" | "%") expr | expr ("==" | "!=") expr
//	     | "(" expr ")" | name | integer
//
// Host programs also have x < y, x >= y and x ^ y (XOR). As in C++, "^" binds less tightly than all others. Its
// operands are printed in parentheses unless they are names or numbers. Specs do not have "^", because a reader would
// take it for a power.
//
// Division in a spec must be exact. "%" takes the sign of the divisor, so (r - s) % d is a rank. Overflow is an error
// and never wraps.
package expr

// Expr is a parsed expression. It is immutable.
type Expr interface {
	// String prints the expression with the fewest parentheses, in a form that
	// Parse reads back and that is also C++.
	String() string
	isExpr()
}

// Int is a literal.
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
