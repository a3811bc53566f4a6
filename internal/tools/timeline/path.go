package timeline

import (
	"cmp"
	"slices"
)

// A Step is a slice of the critical path.
type Step struct {
	*Slice
	Last *Slice // for a collective, the slice of the last rank to enter, where the path continues; else Slice itself
	Gap  Time   // time since the end of the step before, or since time 0, in which no work of the path runs
}

// Length returns the time of the path in a slice. A collective counts from the entry of its last rank.
func (s Step) Length() Time { return s.End - s.Last.Begin }

// setPath finds the critical path from the events of the trace, backwards from the work that ends last. The predecessor
// of a slice is the work that ends last before the slice begins. Candidates are the work on all tracks of its rank, and
// the work that arrows and waits lead back to (see released). Waits are not work, so the time between two slices of the
// path is a gap. A collective ends only after its last rank has entered, so the path continues at that rank.
func (t *Trace) setPath() {
	ended := map[*Rank][]*Slice{}
	var last *Slice
	t.all(func(s *Slice) {
		if !s.Kind.Works() {
			return
		}
		ended[s.rank] = append(ended[s.rank], s)
		if last == nil || s.End > last.End {
			last = s
		}
	})
	for _, list := range ended {
		slices.SortStableFunc(list, func(x, y *Slice) int { return cmp.Or(cmp.Compare(x.End, y.End), cmp.Compare(x.Begin, y.Begin)) })
	}
	together := t.collectives()
	for s := last; s != nil; {
		step := Step{Slice: s, Last: together.last(s)}
		at := step.Last
		s.Critical, at.Critical = true, true
		before := latest(ended[at.rank], at)
		for _, from := range at.released() {
			if from.End <= at.Begin && !from.Critical && (before == nil || from.End > before.End) {
				before = from
			}
		}
		step.Gap = at.Begin
		if before != nil {
			step.Gap -= before.End
		}
		t.Path = append(t.Path, step)
		s = before
	}
	slices.Reverse(t.Path)
}

// latest returns the last slice, in order of end, that has ended when s begins. If several end at the same time, it
// prefers a slice of the same track. It skips slices that are on the path already.
func latest(list []*Slice, s *Slice) *Slice {
	after, _ := slices.BinarySearchFunc(list, s.Begin+1, func(x *Slice, t Time) int { return cmp.Compare(x.End, t) })
	var found *Slice
	for i := after - 1; i >= 0; i-- {
		x := list[i]
		if found != nil && x.End < found.End {
			break
		}
		if !x.Critical && (found == nil || x.track == s.track) {
			found = x
		}
	}
	return found
}

// released returns the work at the sources of arrows to a slice or to the waits directly before it on its track. If
// such an arrow begins at a wait, released follows the arrows to that wait too. It also returns the work directly
// before each wait that it meets.
func (s *Slice) released() []*Slice {
	var found []*Slice
	seen := map[*Slice]bool{}
	var follow func(*Slice)
	follow = func(to *Slice) {
		if seen[to] {
			return
		}
		seen[to] = true
		for _, from := range to.from {
			if from.Kind.Works() {
				found = append(found, from)
			} else {
				follow(from)
			}
		}
		if to.place == 0 {
			return
		}
		switch before := to.track.Slices[to.place-1]; {
		case !before.Kind.Works():
			follow(before)
		case to != s:
			found = append(found, before) // on the track of the wait, possibly on another rank
		}
	}
	follow(s)
	return found
}

// pathShares sums the time of the path by name, with the gaps last.
func (t *Trace) pathShares() []Share {
	var all shares
	gaps := Share{Name: "gaps"}
	for _, step := range t.Path {
		all.add(step.Name, step.Length())
		if step.Gap > 0 {
			gaps.Time, gaps.Times = gaps.Time+step.Gap, gaps.Times+1
		}
	}
	if gaps.Times == 0 {
		return all.sorted()
	}
	return append(all.sorted(), gaps)
}

// analyse finds the sums of all ranks and the critical path.
func (t *Trace) analyse() {
	for _, r := range t.Ranks {
		r.setSums(t.Length)
	}
	t.setPath()
}
