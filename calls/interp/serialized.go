package interp

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

// communicates orders communications in a serialized run: the communication from task begin to task end starts after
// the previous communication of this rank, which may be from an earlier call.
func (r *rank) communicates(begin, end *tasks.Task) {
	if r.machine.serialized {
		begin.Follow(r.moved)
		r.moved = end
	}
}

// movesData reports whether an operation on shared memory moves data, and not only flags.
func movesData(s calls.Stmt) bool {
	switch s := s.(type) {
	case *calls.Transfer, *calls.PeerSum:
		return true
	case *calls.MemOpBatch:
		moves := false
		calls.Walk(s.Body, func(part calls.Stmt) bool {
			moves = moves || calls.Is[*calls.Transfer](part)
			return true
		})
		return moves
	}
	return false
}

// reaches reports whether a copy reads or writes memory of another rank.
func (r *rank) reaches(s *calls.Memcpy) bool {
	for _, p := range []calls.Pointer{s.In, s.Out} {
		if at, err := r.at(s, p); err == nil && at.Of != nil && int64(at.Owner) != r.number {
			return true
		}
	}
	return false
}
