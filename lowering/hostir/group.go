package hostir

// Group gives what stands between a StartCoalescing and its end, from what follows the start;
// nil if the list has no end of it.
func Group(rest []Stmt) ([]Stmt, *EndCoalescing) {
	for i, s := range rest {
		if end, ok := s.(*EndCoalescing); ok {
			return rest[:i], end
		}
	}
	return rest, nil
}
