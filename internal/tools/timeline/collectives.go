package timeline

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls/collective"
)

// isCollective reports whether a slice is a communication that no rank leaves before all ranks have entered.
func isCollective(s *Slice) bool {
	return s.Kind == NCCL && slices.ContainsFunc(collective.Rows(), func(r *collective.Row) bool {
		return !r.Rooted() && !r.Pairs && strings.Contains(s.Name, string(r.Type))
	})
}

// meeting identifies a call of a collective: its slices on all ranks have one meeting. See meetings.last for exceptions.
type meeting struct{ name, detail, track string }

type meetings map[meeting][]*Slice

// collectives groups the slices of collectives that have the same name, the same details (such as call and index) and
// tracks of the same name.
func (t *Trace) collectives() meetings {
	found := meetings{}
	t.all(func(s *Slice) {
		if isCollective(s) {
			found[s.meeting()] = append(found[s.meeting()], s)
		}
	})
	return found
}

func (s *Slice) meeting() meeting { return meeting{s.Name, s.Detail, s.track.Name} }

// last returns the slice of a collective on the last rank to enter, or s itself for any other slice. Slices that do not
// overlap belong to other groups of ranks or other calls.
func (m meetings) last(s *Slice) *Slice {
	last := s
	for _, other := range m[s.meeting()] {
		if other.rank != s.rank && other.Begin < s.End && other.End > s.Begin && other.Begin > last.Begin {
			last = other
		}
	}
	return last
}
