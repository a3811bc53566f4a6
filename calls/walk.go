package calls

import (
	"iter"

	"github.com/hirgen/hirgen/internal/base/expr"
)

// Walk visits statements in order, and the statements nested in a statement if visit returns true for it.
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

// All iterates over statements in order. Nested statements follow the statement that contains them.
func All(body []Stmt) iter.Seq[Stmt] { return Each[Stmt](body) }

// Each iterates, like All, over the statements of one type.
func Each[S Stmt](body []Stmt) iter.Seq[S] {
	return func(yield func(S) bool) { each(body, yield) }
}

func each[S Stmt](body []Stmt, yield func(S) bool) bool {
	for _, s := range body {
		if typed, is := s.(S); is && !yield(typed) {
			return false
		}
		for _, list := range Bodies(s) {
			if !each(*list, yield) {
				return false
			}
		}
	}
	return true
}

// Any reports whether is(s) is true for some statement s of a list, or for a nested one.
func Any(body []Stmt, is func(Stmt) bool) bool {
	for s := range All(body) {
		if is(s) {
			return true
		}
	}
	return false
}

// Is reports whether a statement has type S.
func Is[S Stmt](s Stmt) bool {
	_, is := s.(S)
	return is
}

// Edit replaces each statement of a list by the result of f. It replaces the nested statements of a statement first.
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

// EditLists replaces each list of statements by the result of f. It replaces nested lists first.
func EditLists(body []Stmt, f func([]Stmt) []Stmt) []Stmt {
	for _, s := range body {
		for _, inner := range Bodies(s) {
			*inner = EditLists(*inner, f)
		}
	}
	return f(body)
}

// MergeIfs merges adjacent branches of a list with the same guard, without other conditions and without Else. A branch
// with a Note is not merged into the branch before it.
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

// OnlyGuards reports whether a branch has a guard, no other condition, and no Else.
func (s *If) OnlyGuards() bool {
	return s.Guard != "" && s.Cond == nil && s.PeerAccess == nil && len(s.Else) == 0
}

// AsksForNodes reports whether some branch has a PeerAccess, which depends on the nodes of ranks.
func AsksForNodes(body []Stmt) bool {
	for branch := range Each[*If](body) {
		if branch.PeerAccess != nil {
			return true
		}
	}
	return false
}

// Waits reports whether a statement makes a stream wait for an event or for flags. Statements nested in loops, branches
// and RowExchanges do not count.
func Waits(s Stmt) bool {
	switch s := s.(type) {
	case *StreamWait, *FlagWait, *Transfer, *PeerSum:
		return true
	case *MemOpBatch:
		return s.Use == "wait" || s.Use == "copy"
	}
	return false
}

// TransferOf returns the share that a statement uses, and a pointer to the number of its transfer in that share, which the caller may
// change. transfer is nil for statements that use no transfer.
func TransferOf(s Stmt) (share string, transfer *expr.Expr) { //nolint:gocritic // callers replace the expression
	switch s := s.(type) {
	case *FlagWrite:
		return s.Flag.Share, &s.Flag.Transfer
	case *FlagWait:
		return s.Flag.Share, &s.Flag.Transfer
	case *Transfer:
		return s.Share, &s.Transfer
	case *PeerPart:
		return s.Share, &s.Transfer
	}
	return "", nil
}
