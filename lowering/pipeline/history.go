package pipeline

import (
	"cmp"
	"slices"
)

// history records the last accesses to the elements of one buffer: the last writer, and the later readers. Adjacent
// elements with the same accesses form a part. An access only looks at the parts that it touches, and a write replaces
// them by one part. There can be as many parts as ranks. So that insertions stay cheap, they move the indices of parts
// in order, and not the parts.
type history struct {
	parts []part  // in the order of creation; parts that the field order omits are unused
	order []int32 // indices of the current parts, sorted by element, without overlap; elements in no part were not touched
}

// at returns the i-th part in the order of elements.
func (h *history) at(i int) *part { return &h.parts[h.order[i]] }

// find returns the index in order of the first part that begins at element low or later, and whether it begins at low.
func (h *history) find(low int64) (place int, found bool) {
	return slices.BinarySearchFunc(h.order, low, func(i int32, low int64) int { return cmp.Compare(h.parts[i].low, low) })
}

// add stores a part and returns its index.
func (h *history) add(p part) int32 {
	h.parts = append(h.parts, p)
	return int32(len(h.parts) - 1)
}

type part struct {
	run
	writers []int // the instances that wrote it last: one, or several of which only one runs
	readers []int // the instances that read it since
}

// pair is an edge between two instances.
type pair struct {
	from, to int
	kind     EdgeKind
}

// access records that instance number at reads or writes the elements of r. It appends to pairs the edges from the
// instances that this instance depends on. exclusive reports whether an earlier instance and this one are exclusive:
// only one of the two runs.
func (h *history) access(r run, at int, writes bool, exclusive func(int) bool, pairs []pair) []pair {
	h.cut(r.low)
	h.cut(r.high)
	first, _ := h.find(r.low)
	end := first
	writers := []int{at}
	for end < len(h.order) && h.at(end).low < r.high {
		p := h.at(end)
		if writes && len(p.writers) == 1 && exclusive(p.writers[0]) && !slices.Contains(writers, p.writers[0]) {
			writers = append(writers, p.writers[0])
		}
		pairs = p.follow(at, writes, exclusive, pairs)
		if n := len(p.readers); !writes && (n == 0 || p.readers[n-1] != at) { // readers are in ascending order
			p.readers = append(p.readers, at)
		}
		end++
	}
	if writes {
		if written := (part{run: r, writers: writers}); end > first {
			*h.at(first) = written
			h.order = slices.Delete(h.order, first+1, end)
		} else {
			h.order = slices.Insert(h.order, first, h.add(written))
		}
		return pairs
	}
	h.fill(r, at, first, end)
	return pairs
}

// follow appends to pairs the edges from the earlier accesses of a part to the access of instance at.
func (p *part) follow(at int, writes bool, exclusive func(int) bool, pairs []pair) []pair {
	kind := Data
	if writes {
		kind = Reuse
		for _, reader := range p.readers {
			if reader != at {
				pairs = append(pairs, pair{reader, at, Reuse})
			}
		}
	}
	for _, writer := range p.writers {
		if writer != at && (!writes || !exclusive(writer)) {
			pairs = append(pairs, pair{writer, at, kind})
		}
	}
	return pairs
}

// fill adds parts for the elements of a run that are in no part yet. reader is their only access. order[first:end] are
// the existing parts within the run.
func (h *history) fill(r run, reader, first, end int) {
	var list []int32
	low := r.low
	for _, i := range h.order[first:end] {
		next := h.parts[i].run
		if next.low > low {
			list = append(list, h.add(part{run{low, next.low}, nil, []int{reader}}))
		}
		list = append(list, i)
		low = next.high
	}
	if low < r.high {
		list = append(list, h.add(part{run{low, r.high}, nil, []int{reader}}))
	}
	if len(list) > end-first {
		h.order = slices.Replace(h.order, first, end, list...)
	}
}

// cut splits the part that contains an element, if there is one, so that the element is the first one of a part.
func (h *history) cut(at int64) {
	i, found := h.find(at)
	if found || i == 0 || h.at(i-1).high <= at {
		return
	}
	left := h.at(i - 1)
	right := part{run{at, left.high}, left.writers, slices.Clone(left.readers)}
	left.high = at
	h.order = slices.Insert(h.order, i, h.add(right))
}
