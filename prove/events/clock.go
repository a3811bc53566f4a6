package events

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/clock"
)

// Clock is a vector clock. It records how many operations of each thread, on some ranks, have ended before an event.
// Parts never change, so several clocks can share one.
type Clock struct {
	ranks []int32 // the ranks that it covers, sorted; often one list for many clocks
	parts []*part // by index in ranks
}

// part counts the ended operations of a rank's threads.
type part = clock.Clock[int32]

// at returns the index of a rank in a clock; -1: the clock does not cover it.
func (c *Clock) at(rank int32) int {
	if int(rank) < len(c.ranks) && c.ranks[rank] == rank {
		return int(rank)
	}
	if i, ok := slices.BinarySearch(c.ranks, rank); ok {
		return i
	}
	return -1
}

// Covers reports whether the clock counts at least epoch ended operations of a thread. It counts 0 if it does not
// cover the rank.
func (c *Clock) Covers(rank, thread, epoch int32) bool { return c.Ended(rank, thread) >= epoch }

// Ended returns how many operations of a thread have ended, and 0 if the clock does not cover its rank.
func (c *Clock) Ended(rank, thread int32) int32 {
	at := c.at(rank)
	if at < 0 {
		return 0
	}
	if p := c.parts[at]; p != nil {
		return p.Of(int(thread))
	}
	return 0
}

// merge adds the ended operations of another clock on the ranks that c covers. It does nothing if c or other is nil.
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
	case mine == nil || theirs.Covers(*mine):
		c.parts[i] = theirs
	case mine.Covers(*theirs):
	default:
		both := mine.Merged(*theirs)
		c.parts[i] = &both
	}
}

func (c *Clock) copied() *Clock {
	if c == nil {
		return nil
	}
	return &Clock{c.ranks, slices.Clone(c.parts)}
}

// with returns a copy of c that also counts the first epoch operations of a thread; nil if c is nil. c has to cover
// the rank.
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
	own = own.At(int(thread), max(own.Of(int(thread)), epoch))
	n.parts[at] = &own
	return n
}
