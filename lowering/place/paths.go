package place

import (
	"math"
	"slices"
)

// path is the cheapest way to make a tensor available in a placement. It is a change from an available placement, or a view of another
// tensor that is then changed.
type path struct {
	us   float64 // of all changes, in microseconds; infinite if there is no path
	from byte    // the number of the placement before the change
	way  int     // the number of the choice of the view, or none
}

// none marks a path without a view: the tensor is available in the placement before the change.
const none = -1

// paths returns the path to each placement of a tensor, by number.
func (s *state) paths(f *forms) []path {
	list := make([]path, len(f.list))
	for to := range list {
		list[to].us = math.Inf(1)
	}
	improve := func(us float64, from byte, way int) {
		for to := range list {
			if change := f.us[from][to]; change >= 0 && us+change < list[to].us {
				list[to] = path{us + change, from, way}
			}
		}
	}
	for _, from := range []byte(s.have(f)) {
		improve(0, from, none)
	}
	if f.of == nil {
		return list
	}
	of := s.paths(f.of)
	for n, w := range f.ways {
		improve(of[w.reads[0]].us, w.makes[0], n)
	}
	return list
}

// have returns the numbers of the placements in which a tensor is available, one byte each.
func (s *state) have(f *forms) string {
	if n, found := s.find(f); found {
		return s.live[n].have
	}
	return ""
}

// find returns the index of a tensor in live, or the index at which it would be inserted.
func (s *state) find(f *forms) (n int, found bool) {
	return slices.BinarySearchFunc(s.live, f.id, func(h held, id int) int { return h.id - id })
}

// read adds the time of the path to a placement of a tensor. It records each placement on the path that a change with a positive time
// makes, also of the operands of views. It returns false if there is no path.
func (s *state) read(f *forms, at byte) (possible bool) {
	p := s.paths(f)[at]
	if math.IsInf(p.us, 1) {
		return false
	}
	if p.way != none {
		s.read(f.of, f.ways[p.way].reads[0])
	}
	if us := f.us[p.from][at]; us > 0 {
		s.us += us
		s.add(f, at)
	}
	return true
}

// add records that a tensor is available in a placement, and adds its bytes.
func (s *state) add(f *forms, at byte) {
	n, found := s.find(f)
	if !found {
		s.live = slices.Insert(s.live, n, held{forms: f})
	}
	s.live[n].have += string([]byte{at})
	s.bytes += f.bytes[at]
}
