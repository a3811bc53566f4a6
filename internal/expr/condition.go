package expr

// Opposite is the condition that holds where another one, a comparison or a number that stands for
// true unless it is 0, does not.
func Opposite(cond Expr) Expr {
	c, ok := cond.(*Binary)
	switch {
	case ok && c.Op == "==":
		return &Binary{Op: "!=", X: c.X, Y: c.Y}
	case ok && c.Op == "!=":
		return &Binary{Op: "==", X: c.X, Y: c.Y}
	default:
		return &Binary{Op: "==", X: cond, Y: Int(0)}
	}
}
