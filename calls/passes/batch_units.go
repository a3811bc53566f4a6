package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// kind identifies operations that can form one batch: their use and stream. The zero kind means that they cannot.
type kind struct{ use, on string }

// joinsOf returns a pointer to the Joins field of a statement; nil if the statement has none.
func joinsOf(s calls.Stmt) *string {
	switch s := s.(type) {
	case *calls.FlagWrite:
		return &s.Joins
	case *calls.FlagWait:
		return &s.Joins
	case *calls.Transfer:
		return &s.Joins
	}
	return nil
}

// unit returns the number of statements in the unit at the beginning of a list, and their kind. A unit is an operation
// with the records and waits around it, or a loop or a branch with operations of one kind. Any other statement is a
// unit of the zero kind.
func unit(body []calls.Stmt) (n int, k kind) {
	switch s := body[0].(type) {
	case *calls.For:
		if k := kindOf(s.Body); !varies(s) {
			return 1, k
		}
	case *calls.If:
		if len(s.Else) == 0 {
			return 1, kindOf(s.Body)
		}
	case *calls.FlagWrite:
		if s.Joins != "" {
			return 1, kind{"write", s.On.String()}
		}
	case *calls.FlagWait:
		if s.Joins != "" {
			return 1 + recordsOn(body[1:], s.On), kind{"wait", s.On.String()}
		}
	case *calls.Transfer:
		if s.Joins != "" {
			return 1 + recordsOn(body[1:], s.On), kind{"copy", s.On.String()}
		}
	case *calls.EventRecord: // the stream of a copy may wait for an event first
		if len(body) > 2 && isWaitFor(body[1], s.Event) {
			if n, k := unit(body[2:]); k.use == "copy" {
				return 2 + n, k
			}
		}
	}
	return 1, kind{}
}

// varies reports whether a stream in a loop depends on the loop's variable.
func varies(loop *calls.For) bool {
	return calls.Any(loop.Body, func(s calls.Stmt) bool {
		return slices.ContainsFunc(calls.StreamsOf(s), func(on calls.Stream) bool { return expr.Mentions(on.Index, loop.Var) })
	})
}

// recordsOn returns 1 if a list begins with a record on a stream, which marks the end of the preceding operation, and
// otherwise 0.
func recordsOn(body []calls.Stmt, on calls.Stream) int {
	if len(body) > 0 {
		if r, ok := body[0].(*calls.EventRecord); ok && r.On.String() == on.String() {
			return 1
		}
	}
	return 0
}

func isWaitFor(s calls.Stmt, e calls.Event) bool {
	w, ok := s.(*calls.StreamWait)
	return ok && w.Event.Set == e.Set
}

// kindOf returns the common kind of all operations of a list, or the zero kind if they have none. It skips declarations
// of names.
func kindOf(body []calls.Stmt) kind {
	var all kind
	for len(body) > 0 {
		n, k := unit(body)
		switch body[0].(type) {
		case *calls.Let, *calls.Declare:
			body = body[1:]
			continue
		}
		if k == (kind{}) || all != (kind{}) && all != k {
			return kind{}
		}
		all, body = k, body[n:]
	}
	return all
}
