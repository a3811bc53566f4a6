package expr

// Opposite is the condition that holds where another one, a comparison or a number that stands for
// true unless it is 0, does not.
func Opposite(cond Expr) Expr {
	opposite := map[string]string{"==": "!=", "!=": "==", "<": ">=", ">=": "<"}
	if c, ok := cond.(*Binary); ok && opposite[c.Op] != "" {
		return &Binary{Op: opposite[c.Op], X: c.X, Y: c.Y}
	}
	return &Binary{Op: "==", X: cond, Y: Int(0)}
}
