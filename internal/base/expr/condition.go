package expr

// Opposite returns the negation of a condition. The condition is a comparison or a number, where a number is true
// unless it is 0.
func Opposite(cond Expr) Expr {
	opposite := map[string]string{"==": "!=", "!=": "==", "<": ">=", ">=": "<"}
	if c, ok := cond.(*Binary); ok && opposite[c.Op] != "" {
		return &Binary{Op: opposite[c.Op], X: c.X, Y: c.Y}
	}
	return &Binary{Op: "==", X: cond, Y: Int(0)}
}
