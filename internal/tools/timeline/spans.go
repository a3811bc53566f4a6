package timeline

import (
	"cmp"
	"slices"
)

type span struct{ begin, end Time }

// spans are disjoint time ranges, in order.
type spans []span

// union merges any list of ranges.
func union(list []span) spans {
	slices.SortFunc(list, func(x, y span) int { return cmp.Compare(x.begin, y.begin) })
	var all spans
	for _, s := range list {
		switch last := len(all) - 1; {
		case s.begin == s.end:
		case last >= 0 && s.begin <= all[last].end:
			all[last].end = max(all[last].end, s.end)
		default:
			all = append(all, s)
		}
	}
	return all
}

// length returns the total length.
func (a spans) length() Time {
	var sum Time
	for _, s := range a {
		sum += s.end - s.begin
	}
	return sum
}

// both returns the intersection.
func (a spans) both(b spans) spans {
	var found spans
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if begin, end := max(a[i].begin, b[j].begin), min(a[i].end, b[j].end); begin < end {
			found = append(found, span{begin, end})
		}
		if a[i].end < b[j].end {
			i++
		} else {
			j++
		}
	}
	return found
}

// without returns a without the times of b.
func (a spans) without(b spans) spans {
	var found spans
	for _, s := range a {
		from := s.begin
		first, _ := slices.BinarySearchFunc(b, s.begin, func(x span, t Time) int { return cmp.Compare(x.end, t) })
		for _, cut := range b[first:] {
			if cut.begin >= s.end {
				break
			}
			if from < cut.begin {
				found = append(found, span{from, cut.begin})
			}
			from = max(from, cut.end)
		}
		if from < s.end {
			found = append(found, span{from, s.end})
		}
	}
	return found
}
