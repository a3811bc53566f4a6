package expr

import (
	"strconv"
	"strings"
)

// String prints the number.
func (e Int) String() string { return strconv.FormatInt(int64(e), 10) }

// String prints the name.
func (e Var) String() string { return string(e) }

// String prints the operation with a space on both sides of the operator.
func (e *Binary) String() string { return e.format(" ") }

// Compact prints e without spaces, as specs write extents: "M/(S*D)".
func Compact(e Expr) string {
	if b, ok := e.(*Binary); ok {
		return b.format("")
	}
	return e.String()
}

func (e *Binary) format(space string) string {
	var b strings.Builder
	e.write(&b, space)
	return b.String()
}

func (e *Binary) write(b *strings.Builder, space string) {
	own := precedence[e.Op]
	if e.Op == "^" {
		own = len(precedence) // parentheses around both operands, so that readers need not know the precedence of "^"
	}
	writeOperand(b, e.X, space, own)
	b.WriteString(space + e.Op + space)
	// A right operand of the same precedence needs parentheses: a - (b - c).
	writeOperand(b, e.Y, space, own+1)
}

// writeOperand writes e, in parentheses if the precedence of its operator is below least.
func writeOperand(b *strings.Builder, e Expr, space string, least int) {
	inner, ok := e.(*Binary)
	switch {
	case !ok:
		b.WriteString(e.String())
	case precedence[inner.Op] < least:
		b.WriteByte('(')
		inner.write(b, space)
		b.WriteByte(')')
	default:
		inner.write(b, space)
	}
}
