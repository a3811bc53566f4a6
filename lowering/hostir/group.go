package hostir

// Group returns the statements of a group and its end. rest are the statements after the StartCoalescing. If rest has
// no EndCoalescing, Group returns rest and nil.
func Group(rest []Stmt) ([]Stmt, *EndCoalescing) {
	for i, s := range rest {
		if end, ok := s.(*EndCoalescing); ok {
			return rest[:i], end
		}
	}
	return rest, nil
}
