package order

import (
	"maps"
	"slices"
)

// Beside lists, for each lifetime, the indices of the lifetimes that it may overlap with on some rank, in increasing
// order. list must be sorted by beginning. An earlier lifetime overlaps a later one unless it is known to have ended
// when the later one begins. most limits how many lifetimes may overlap at the same time. Above the limit, apart is true
// for the one that began first: it has no list and is in no other list.
func Beside(list []*Lifetime, most int) (beside [][]int, apart []bool) {
	b := &neighbours{make([][]int, len(list)), make([]bool, len(list)), most}
	ranks := map[int64]bool{}
	for _, life := range list {
		for rank := range life.spans {
			ranks[rank] = true
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(ranks)) {
		b.onRank(list, rank)
	}
	for i := range b.of {
		slices.Sort(b.of[i])
		b.of[i] = slices.DeleteFunc(slices.Compact(b.of[i]), func(j int) bool { return b.apart[i] || b.apart[j] })
	}
	return b.of, b.apart
}

type neighbours struct {
	of    [][]int
	apart []bool
	most  int
}

// onRank adds the overlaps on one rank. It drops a lifetime from open once it has ended before all later ones begin, so
// its time is roughly proportional to the number of overlaps.
func (b *neighbours) onRank(list []*Lifetime, rank int64) {
	rest, later := make([]Clock, len(list)), Clock(nil) // by lifetime: the work that has ended before this lifetime and all later ones begin
	for i, life := range slices.Backward(list) {
		if s := life.spans[rank]; s != nil {
			if later == nil {
				later = s.begin
			} else {
				later = later.Common(s.begin)
			}
			rest[i] = later
		}
	}
	var open []int
	for i, life := range list {
		s := life.spans[rank]
		if s == nil || b.apart[i] {
			continue
		}
		open = slices.DeleteFunc(open, func(j int) bool { return rest[i].Covers(list[j].spans[rank].end) })
		if len(open) == b.most {
			b.apart[open[0]] = true
			open = open[1:]
		}
		for _, j := range open {
			if !s.begin.Covers(list[j].spans[rank].end) {
				b.of[i], b.of[j] = append(b.of[i], j), append(b.of[j], i)
			}
		}
		open = append(open, i)
	}
}
