package events

import "slices"

// Clock says how many operations of each thread of some ranks have ended before something. Ranks' parts are shared
// between clocks and never changed.
type Clock struct {
	ranks []int32 // that it tells of, in order; often one list for many clocks
	parts []*part // of each of them
}

type part []int32

// at is where a clock has a rank; -1: it does not tell of it.
func (c *Clock) at(rank int32) int {
	if int(rank) < len(c.ranks) && c.ranks[rank] == rank {
		return int(rank)
	}
	if i, ok := slices.BinarySearch(c.ranks, rank); ok {
		return i
	}
	return -1
}

// Covers reports whether so many operations of a thread have ended.
func (c *Clock) Covers(rank, thread, epoch int32) bool { return c.Ended(rank, thread) >= epoch }

// Ended is how many operations of a thread have ended, as far as the clock tells.
func (c *Clock) Ended(rank, thread int32) int32 {
	at := c.at(rank)
	if at < 0 {
		return 0
	}
	if p := c.parts[at]; p != nil && int(thread) < len(*p) {
		return (*p)[thread]
	}
	return 0
}

// merge adds what another clock knows of the ranks that this one tells of.
func (c *Clock) merge(other *Clock) {
	if c == nil || other == nil {
		return
	}
	if len(c.ranks) == len(other.ranks) && &c.ranks[0] == &other.ranks[0] {
		for i, theirs := range other.parts {
			c.mergePart(i, theirs)
		}
		return
	}
	from := 0
	for i, rank := range c.ranks {
		for from < len(other.ranks) && other.ranks[from] < rank {
			from++
		}
		if from < len(other.ranks) && other.ranks[from] == rank {
			c.mergePart(i, other.parts[from])
		}
	}
}

func (c *Clock) mergePart(i int, theirs *part) {
	mine := c.parts[i]
	switch {
	case mine == theirs || theirs == nil:
	case mine == nil || mine.within(*theirs):
		c.parts[i] = theirs
	case theirs.within(*mine):
	default:
		c.parts[i] = mine.merged(*theirs)
	}
}

func (c *Clock) copied() *Clock {
	if c == nil {
		return nil
	}
	return &Clock{c.ranks, slices.Clone(c.parts)}
}

// within reports whether the other part knows as much.
func (p part) within(other part) bool {
	for t, n := range p {
		if n > 0 && (t >= len(other) || other[t] < n) {
			return false
		}
	}
	return true
}

func (p part) merged(other part) *part {
	if len(p) < len(other) {
		p, other = other, p
	}
	sum := slices.Clone(p)
	for t, n := range other {
		sum[t] = max(sum[t], n)
	}
	return &sum
}

// with is the clock and so many operations of a thread. That of a stream knows its own operations only in this way.
func (c *Clock) with(rank, thread, epoch int32) *Clock {
	if c == nil {
		return nil
	}
	at := c.at(rank)
	n := c.copied()
	var own part
	if p := c.parts[at]; p != nil {
		own = slices.Clone(*p)
	}
	for int(thread) >= len(own) {
		own = append(own, 0)
	}
	own[thread] = max(own[thread], epoch)
	n.parts[at] = &own
	return n
}
