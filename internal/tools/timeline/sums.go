package timeline

import (
	"cmp"
	"slices"
)

// Sums are the times of a rank by activity. GEMMs, Kernels, Exposed and Idle add up to the length of the trace.
// Transfers is the sum of Hidden and Exposed.
type Sums struct {
	GEMMs     Time // a GEMM runs
	Kernels   Time // another kernel runs, and no GEMM
	Transfers Time // something moves
	Hidden    Time // something moves, and a GEMM or another kernel runs
	Exposed   Time // something moves, and nothing else runs
	Idle      Time // nothing runs except waits
}

// setSums computes the sums of a rank and the computations that hide each of its transfers.
func (r *Rank) setSums(whole Time) {
	of := func(pick func(Kind) bool) spans {
		var list []span
		r.all(func(s *Slice) {
			if pick(s.Kind) {
				list = append(list, span{s.Begin, s.End})
			}
		})
		return union(list)
	}
	gemms, computes, moves := of(func(k Kind) bool { return k == GEMM }), of(Kind.Computes), of(Kind.Moves)
	r.hidden, r.exposed = moves.both(computes), moves.without(computes)
	r.Sums = Sums{
		GEMMs: gemms.length(), Kernels: computes.length() - gemms.length(), Transfers: moves.length(),
		Hidden: r.hidden.length(), Exposed: r.exposed.length(), Idle: whole - of(Kind.Works).length(),
	}
	r.setBehind(computes)
}

// setBehind finds the computations that run at the same time as each transfer.
func (r *Rank) setBehind(computes spans) {
	var list []*Slice
	r.all(func(s *Slice) {
		if s.Kind.Computes() {
			list = append(list, s)
		}
	})
	slices.SortStableFunc(list, func(x, y *Slice) int { return cmp.Compare(x.Begin, y.Begin) })
	var longest Time
	for _, s := range list {
		longest = max(longest, s.Length())
	}
	r.all(func(s *Slice) {
		if !s.Kind.Moves() {
			return
		}
		var shares shares
		first, _ := slices.BinarySearchFunc(list, s.Begin-longest, func(x *Slice, t Time) int { return cmp.Compare(x.Begin, t) })
		for _, c := range list[first:] {
			if c.Begin >= s.End {
				break
			}
			if beside := min(s.End, c.End) - max(s.Begin, c.Begin); beside > 0 {
				shares.add(c.Name, beside)
			}
		}
		s.Behind, s.Exposed = shares.sorted(), spans{{s.Begin, s.End}}.without(computes).length()
	})
}

// sums adds the sums of all ranks, counting each rank as many times as it represents.
func (t *Trace) sums() Sums {
	var all Sums
	for _, r := range t.Ranks {
		n := Time(r.Stands)
		all.GEMMs += n * r.Sums.GEMMs
		all.Kernels += n * r.Sums.Kernels
		all.Transfers += n * r.Sums.Transfers
		all.Hidden += n * r.Sums.Hidden
		all.Exposed += n * r.Sums.Exposed
		all.Idle += n * r.Sums.Idle
	}
	return all
}

// ranks returns the number of ranks, including those that others represent.
func (t *Trace) ranks() int {
	n := 0
	for _, r := range t.Ranks {
		n += r.Stands
	}
	return n
}

// shares gathers times by name.
type shares []Share

func (all *shares) add(name string, time Time) {
	for i := range *all {
		if s := &(*all)[i]; s.Name == name {
			s.Time, s.Times = s.Time+time, s.Times+1
			return
		}
	}
	*all = append(*all, Share{name, time, 1})
}

// sorted sorts the shares, the longest first, and returns them.
func (all shares) sorted() []Share {
	slices.SortStableFunc(all, func(x, y Share) int { return cmp.Compare(y.Time, x.Time) })
	return all
}
