package calls

// Walk visits statements in order, and nested statements if visit returns true.
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

// Edit replaces each statement of a list, including nested ones, by the result of f, innermost lists first.
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

// EditLists replaces each list of statements by the result of f, innermost first.
func EditLists(body []Stmt, f func([]Stmt) []Stmt) []Stmt {
	for _, s := range body {
		for _, inner := range Bodies(s) {
			*inner = EditLists(*inner, f)
		}
	}
	return f(body)
}

// MergeIfs merges adjacent branches with the same guard.
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

// OnlyGuards reports whether a branch has no condition except its guard, and no Else.
func (s *If) OnlyGuards() bool {
	return s.Guard != "" && s.Cond == nil && s.PeerAccess == nil && len(s.Else) == 0
}

// AsksForNodes reports whether some branch depends on the nodes of ranks.
func AsksForNodes(body []Stmt) bool {
	found := false
	Walk(body, func(s Stmt) bool {
		i, ok := s.(*If)
		found = found || ok && i.PeerAccess != nil
		return !found
	})
	return found
}

// Waits reports whether a statement makes a stream wait for another stream or for a peer.
func Waits(s Stmt) bool {
	switch s := s.(type) {
	case *StreamWait, *FlagWait, *Transfer, *PeerSum:
		return true
	case *MemOpBatch:
		return s.Use == "wait"
	}
	return false
}
