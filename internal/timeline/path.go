package timeline

import (
	"cmp"
	"slices"
)

// A Step is a slice of the critical path.
type Step struct {
	*Slice
	Last *Slice // of a collective, the slice of the rank that came last, where the path goes on; else Slice itself
	Gap  Time   // from the end of the step before, or the begin of the trace, in which the path waits for no call
}

// Length is the time of the path in a slice: of a collective, since its last rank came.
func (s Step) Length() Time { return s.End - s.Last.Begin }

// setPath finds the critical path by the events alone, backwards from the work that ends last. A slice goes on to the work
// that ends last of what has ended when it begins: of all tracks of its rank, and of what arrows lead from to the waits that
// are right before it on its track. Waits are no work, so what the path finds between two slices is a gap. A collective is
// done when its last rank has come, so the path goes on at that one.
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

// latest is the last one, in order of end, that has ended when a slice begins. Of those that end at the same time it is
// that of the slice's own track, if there is one.
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

// released is the work that arrows lead from to a slice, or to the waits right before it on its track. An arrow from a
// wait stands for what that one waited for.
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
			found = append(found, before) // of the wait's track, which may be another rank's
		}
	}
	follow(s)
	return found
}

// shares is the time of the path by name, the gaps last.
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
