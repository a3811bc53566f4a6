package cost

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// classes divides the ranks of a program into classes with equal behaviour. A joint connects tasks of several ranks: a
// collective, a message or a flag. Ranks of a class have the same tasks with the same dependencies, and their joints
// connect them to the same tasks of the same classes. By this symmetry, all ranks of a class have the same times, and
// one rank stands for all of them. A place is the index of a rank among the ranks of the program.
type classes struct {
	of     []int32    // class of each place
	first  []int32    // place of each class's first rank, which stands for the class
	groups [][]int32  // by class and index of the joint on a rank: number of the joint's group of equal joints
	meet   [][]member // by group: the members of its joints, one for each class and index (see standIn)
}

// member identifies a joint from one rank's side: the place of the rank, or its class, and the index of the
// joint on the rank.
type member struct{ rank, at int32 }

// joint counts a joint that the rank takes part in, and returns it from the side of this rank. The key of a joint is
// the same on all of its ranks.
func (r *rank) joint(key any) member {
	if r.keys != nil {
		*r.keys = append(*r.keys, maphash.Comparable(seed, key))
	}
	r.joints++
	return member{r.place, r.joints - 1}
}

var seed = maphash.MakeSeed()

// like returns the place of the rank that stands for the class of the rank at a place.
func (c *classes) like(place int32) int32 { return c.first[c.of[place]] }

// group returns the number of a joint's group of equal joints.
func (c *classes) group(m member) int32 { return c.groups[c.of[m.rank]][m.at] }

// meeting returns the number that all equal meetings share, and the places of the ranks that stand for the members. Two
// members, as of a message, keep their order: sender, receiver.
func (c *classes) meeting(at member, members []int32) (group int32, stand []int32) {
	group = c.group(at)
	all := c.meet[group]
	stand = make([]int32, len(all))
	for i, m := range all {
		stand[i] = c.first[m.rank]
	}
	if len(stand) == 2 && len(members) == 2 {
		stand = []int32{c.like(members[0]), c.like(members[1])}
	}
	return group, stand
}

// classify finds the classes of a program's ranks. Ranks start in one class if their tasks are equal apart from the ranks that they
// meet. classify then splits classes whose ranks meet ranks of different classes, until nothing changes.
func classify(p *calls.Program, m *Machine) (*classes, error) {
	u := newUnrolling(p, m)
	colours := make([]uint64, len(u.places))
	var joints []jointOf
	for _, place := range u.places {
		keys := []uint64{}
		colour, err := u.alike(place, &keys)
		if err != nil {
			return nil, err
		}
		colours[place] = colour
		for at, key := range keys {
			joints = append(joints, jointOf{key, member{place, int32(at)}})
		}
	}
	slices.SortFunc(joints, func(a, b jointOf) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.rank, b.rank), cmp.Compare(a.at, b.at))
	})
	r := &refinement{colours: colours, of: make([][]int32, len(colours))}
	r.group(joints)
	for before := 0; ; {
		now := r.refine()
		if now == before {
			return r.classes(), nil
		}
		before = now
	}
}

// alike issues the program on one rank and hashes its tasks. Ranks with equal tasks have the same hash, even if they
// meet different ranks. alike appends the keys of the joints to keys.
func (u *unrolling) alike(place int32, keys *[]uint64) (uint64, error) {
	u.tasks, u.edges, u.streams, u.iterations = u.tasks[:0], u.edges[:0], u.streams[:0], 0
	clear(u.meetings)
	clear(u.flags)
	r := newRank(u, place)
	r.keys = keys
	if err := r.call(); err != nil {
		return 0, err
	}
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range u.tasks {
		t := &u.tasks[i]
		maphash.WriteComparable(&h, [...]float64{t.fixed, t.alone, t.sms, t.hbm, t.in, t.out, t.issued})
		maphash.WriteComparable(&h, t.stmt)
		maphash.WriteComparable(&h, [...]int32{int32(t.kind), t.stream, t.opens, t.before})
		if t.stream >= 0 {
			maphash.WriteComparable(&h, u.streams[t.stream].name)
		}
		for e := t.first; e >= 0; e = u.edges[e].next {
			maphash.WriteComparable(&h, u.edges[e].to)
		}
	}
	return h.Sum64(), nil
}

// Few limits a folded prediction to some classes: the class that ends last, then, in order, each class with which the
// number of calls does not exceed most. The class that ends last is kept even if it exceeds most. A call that waited for
// a removed call has no cause. A prediction whose number of calls does not exceed most is returned unchanged.
func (p *Prediction) Few(most int) *Prediction {
	if len(p.Calls) <= most {
		return p
	}
	counts := map[int]int{}
	for i := range p.Calls {
		counts[p.Calls[i].Rank]++
	}
	last := p.Calls[p.Last].Rank
	kept, total := map[int]bool{last: true}, counts[last]
	for _, c := range p.Classes {
		if total+counts[c.Rank] <= most && !kept[c.Rank] {
			kept[c.Rank] = true
			total += counts[c.Rank]
		}
	}
	few := *p
	few.Calls, few.Classes = nil, lists.Except(p.Classes, func(c Class) bool { return !kept[c.Rank] })
	index := map[int]int{}
	for i, c := range p.Calls {
		if kept[c.Rank] {
			index[i] = len(few.Calls)
			few.Calls = append(few.Calls, c)
		}
	}
	few.Last = index[p.Last]
	for i := range few.Calls {
		c := &few.Calls[i]
		if at, ok := index[c.Cause]; ok {
			c.Cause = at
		} else {
			c.Cause = -1
		}
	}
	return &few
}

// mostRuns limits how many runs of consecutive ranks Span lists.
const mostRuns = 6

// Span formats the ranks of a class: "0-7", or "0, 8, ..., 56" for more than mostRuns ranks in equal steps of at least 2.
// After mostRuns runs it prints "...".
func (c Class) Span() string {
	n := len(c.Ranks)
	if n > mostRuns {
		by := c.Ranks[1] - c.Ranks[0]
		even := by > 1
		for i := 1; i < n; i++ {
			even = even && c.Ranks[i]-c.Ranks[i-1] == by
		}
		if even {
			return fmt.Sprintf("%d, %d, ..., %d", c.Ranks[0], c.Ranks[1], c.Ranks[n-1])
		}
	}
	var runs []string
	for i := 0; i < n; {
		j := i
		for j+1 < n && c.Ranks[j+1] == c.Ranks[j]+1 {
			j++
		}
		switch {
		case len(runs) == mostRuns:
			return strings.Join(runs, ", ") + ", ..."
		case i == j:
			runs = append(runs, strconv.Itoa(c.Ranks[i]))
		default:
			runs = append(runs, fmt.Sprintf("%d-%d", c.Ranks[i], c.Ranks[j]))
		}
		i = j + 1
	}
	return strings.Join(runs, ", ")
}
