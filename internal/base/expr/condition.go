package expr

// Opposite returns the negation of a condition. A condition that is not a comparison is true unless its value is 0.
func Opposite(cond Expr) Expr {
	opposite := map[string]string{"==": "!=", "!=": "==", "<": ">=", ">=": "<"}
	if c, ok := cond.(*Binary); ok && opposite[c.Op] != "" {
		return &Binary{Op: opposite[c.Op], X: c.X, Y: c.Y}
	}
	return &Binary{Op: "==", X: cond, Y: Int(0)}
}
