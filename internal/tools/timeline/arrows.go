package timeline

import (
	"cmp"
	"slices"
)

// arrows links each slice at the end of an arrow to the slices where its arrows begin. It ignores arrows that begin or
// end on the host.
func (b *reader) arrows() {
	tracks := b.byThread()
	begins := map[string]*Slice{}
	for _, a := range b.begins {
		if s := at(tracks[[2]string{a.process, a.thread}], a.at); s != nil {
			begins[a.id] = s
		}
	}
	for _, a := range b.ends {
		s, from := at(tracks[[2]string{a.process, a.thread}], a.at), begins[a.id]
		if s != nil && from != nil {
			s.from = append(s.from, from)
		}
	}
}

// byThread returns the slices of each thread, in order.
func (b *reader) byThread() map[[2]string][]*Slice {
	found := map[[2]string][]*Slice{}
	for _, p := range b.processes {
		for _, t := range p.threads {
			if len(t.slices) > 0 {
				found[[2]string{p.key, t.key}] = t.slices
			}
		}
	}
	return found
}

// at returns the last slice that begins at or before a time, unless it ended before. If several begin at that
// time, it returns the longest.
func at(list []*Slice, time Time) *Slice {
	after, _ := slices.BinarySearchFunc(list, time+1, func(s *Slice, t Time) int { return cmp.Compare(s.Begin, t) })
	if after == 0 || list[after-1].End < time {
		return nil
	}
	return list[after-1]
}
