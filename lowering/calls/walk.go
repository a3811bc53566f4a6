package calls

// Walk visits statements in order, also inside others while visit returns true.
func Walk(body []Stmt, visit func(Stmt) bool) {
	for _, s := range body {
		if !visit(s) {
			continue
		}
		for _, list := range Bodies(s) {
			Walk(*list, visit)
		}
	}
}

// Edit replaces each statement of a list, also inside others, by those that f gives; inner lists
// come first.
func Edit(body []Stmt, f func(Stmt) []Stmt) []Stmt {
	var list []Stmt
	for _, s := range body {
		for _, inner := range Bodies(s) {
			*inner = Edit(*inner, f)
		}
		list = append(list, f(s)...)
	}
	return list
}

// MergeIfs makes one block of adjacent statements under the same condition, and drops conditions
// that always hold.
func MergeIfs(list []Stmt) []Stmt {
	var merged []Stmt
	for _, s := range list {
		next, ok := s.(*If)
		if ok && len(merged) > 0 && next.Guard != "" {
			last, ok := merged[len(merged)-1].(*If)
			if ok && last.Guard == next.Guard {
				last.Body = append(last.Body, next.Body...)
				continue
			}
		}
		merged = append(merged, s)
	}
	return merged
}
