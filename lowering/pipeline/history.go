package pipeline

import (
	"cmp"
	"slices"
)

// history is who touched the elements of one buffer last, in parts that were touched alike:
// the last writer of each, and who read it since. Each access looks at the parts that it touches
// alone, and a write leaves one of them.
type history struct {
	parts []part // sorted, without overlap; elements in no part were not touched
}

type part struct {
	run
	writers []int // instances; of several, one alone has written
	readers []int
}

// pair is an edge between two instances.
type pair struct {
	from, to int
	kind     EdgeKind
}

// access notes that an instance reads or writes elements, and adds what it has to follow. Of a write
// and the one before, either may take place, and never both: beside says so.
func (h *history) access(r run, at int, writes bool, beside func(int) bool, pairs []pair) []pair {
	h.cut(r.low)
	h.cut(r.high)
	first, _ := slices.BinarySearchFunc(h.parts, r.low, func(p part, low int64) int { return cmp.Compare(p.low, low) })
	end := first
	writers := []int{at}
	for end < len(h.parts) && h.parts[end].low < r.high {
		p := &h.parts[end]
		if writes && len(p.writers) == 1 && beside(p.writers[0]) && !slices.Contains(writers, p.writers[0]) {
			writers = append(writers, p.writers[0])
		}
		pairs = p.follow(at, writes, beside, pairs)
		if n := len(p.readers); !writes && (n == 0 || p.readers[n-1] != at) { // instances come in order
			p.readers = append(p.readers, at)
		}
		end++
	}
	if writes {
		h.parts = slices.Replace(h.parts, first, end, part{run: r, writers: writers})
		return pairs
	}
	h.fill(r, at, first, end)
	return pairs
}

// follow adds the edges to an access of a part.
func (p *part) follow(at int, writes bool, beside func(int) bool, pairs []pair) []pair {
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
		if writer != at && (!writes || !beside(writer)) {
			pairs = append(pairs, pair{writer, at, kind})
		}
	}
	return pairs
}

// fill adds parts for the elements of a run that nobody had touched, between two indices.
func (h *history) fill(r run, reader, first, end int) {
	var list []part
	low := r.low
	for _, p := range h.parts[first:end] {
		if p.low > low {
			list = append(list, part{run{low, p.low}, nil, []int{reader}})
		}
		list = append(list, p)
		low = p.high
	}
	if low < r.high {
		list = append(list, part{run{low, r.high}, nil, []int{reader}})
	}
	if len(list) > end-first {
		h.parts = slices.Replace(h.parts, first, end, list...)
	}
}

// cut makes an element the first one of a part, if it is in the middle of one.
func (h *history) cut(at int64) {
	i, found := slices.BinarySearchFunc(h.parts, at, func(p part, at int64) int { return cmp.Compare(p.low, at) })
	if found || i == 0 || h.parts[i-1].high <= at {
		return
	}
	left := h.parts[i-1]
	right := part{run{at, left.high}, left.writers, slices.Clone(left.readers)}
	h.parts[i-1].high = at
	h.parts = slices.Insert(h.parts, i, right)
}
