package timeline

import "regexp"

// collective is what no rank leaves before all have come.
var collective = regexp.MustCompile(`Allgather|Allreduce|ReduceScatter|AllToAll`)

// meeting is what slices of a collective have in common on all ranks.
type meeting struct{ name, detail, track string }

type meetings map[meeting][]*Slice

// collectives gathers the slices of collectives, which are one call on each rank: of the same statement, call and index
// on the same communicator.
func (t *Trace) collectives() meetings {
	found := meetings{}
	t.all(func(s *Slice) {
		if s.Kind == NCCL && collective.MatchString(s.Name) {
			found[s.meeting()] = append(found[s.meeting()], s)
		}
	})
	return found
}

func (s *Slice) meeting() meeting { return meeting{s.Name, s.Detail, s.track.Name} }

// last is the slice of a collective on the rank that came last; any other slice is that itself. Slices that do not run at the
// same time are of other groups of ranks, or of other calls.
func (m meetings) last(s *Slice) *Slice {
	last := s
	for _, other := range m[s.meeting()] {
		if other.rank != s.rank && other.Begin < s.End && other.End > s.Begin && other.Begin > last.Begin {
			last = other
		}
	}
	return last
}
