package order

import (
	"maps"
	"slices"
)

// Beside lists for each life those that it may overlap with on some rank, as numbers of the list, which is in the order in which they begin:
// an earlier one that is not known to be done when it begins, and later ones alike. Where more than `most` are under way, the one that is
// so for the longest time is apart: it has no list and is in none.
func Beside(list []*Life, most int) (beside [][]int, apart []bool) {
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

// onRank notes the lives that overlap on one rank. What is done before all later ones begin is no longer looked at, so the time
// is that of the overlaps.
func (b *neighbours) onRank(list []*Life, rank int64) {
	rest, later := make([]Clock, len(list)), Clock(nil) // of each life: what is done before it and all later ones begin
	for i, life := range slices.Backward(list) {
		if s := life.spans[rank]; s != nil {
			if later == nil {
				later = s.begin
			} else {
				later = later.common(s.begin)
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
