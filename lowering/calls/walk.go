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

// EditLists replaces each list of statements, the inner ones first.
func EditLists(body []Stmt, f func([]Stmt) []Stmt) []Stmt {
	for _, s := range body {
		for _, inner := range Bodies(s) {
			*inner = EditLists(*inner, f)
		}
	}
	return f(body)
}

// MergeIfs makes one block of adjacent statements that the same ranks run.
func MergeIfs(list []Stmt) []Stmt {
	var merged []Stmt
	for _, s := range list {
		if next, ok := s.(*If); ok && len(merged) > 0 && next.OnlyGuards() && next.Note == "" {
			if last, ok := merged[len(merged)-1].(*If); ok && last.OnlyGuards() && last.Guard == next.Guard {
				last.Body = append(last.Body, next.Body...)
				continue
			}
		}
		merged = append(merged, s)
	}
	return merged
}

// OnlyGuards reports whether the ranks of its meshes are the one condition of a branch.
func (s *If) OnlyGuards() bool {
	return s.Guard != "" && s.Cond == nil && s.PeerAccess == nil && len(s.Else) == 0
}

// AsksForNodes reports whether a branch is taken by where ranks are.
func AsksForNodes(body []Stmt) bool {
	found := false
	Walk(body, func(s Stmt) bool {
		i, ok := s.(*If)
		found = found || ok && i.PeerAccess != nil
		return !found
	})
	return found
}

// Waits reports whether a statement makes a stream wait for another one, or for a peer.
func Waits(s Stmt) bool {
	switch s := s.(type) {
	case *StreamWait, *FlagWait, *Transfer, *PeerSum:
		return true
	case *MemOpBatch:
		return s.Use == "wait"
	}
	return false
}
