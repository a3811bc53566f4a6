package cost

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// jointOf is a joint, as one rank identifies it.
type jointOf struct {
	key uint64
	member
}

// refinement divides ranks into classes by the ranks that they meet. Ranks are numbered by their places.
type refinement struct {
	colours []uint64   // colour of each rank; only ranks of the same colour may be in the same class
	members [][]member // members of each joint
	of      [][]int32  // joints of each rank, as indices of members
	meets   []uint64   // hash of each joint, from the colours and indices of its members
}

// group finds the members of each joint, and the joints of each rank. joints is sorted by key.
func (r *refinement) group(joints []jointOf) {
	for i, j := range joints {
		if i == 0 || joints[i-1].key != j.key {
			r.members = append(r.members, nil)
		}
		last := len(r.members) - 1
		r.members[last] = append(r.members[last], j.member)
		for int(j.at) >= len(r.of[j.rank]) {
			r.of[j.rank] = append(r.of[j.rank], 0)
		}
		r.of[j.rank][j.at] = int32(last)
	}
	r.meets = make([]uint64, len(r.members))
}

// refine gives ranks of one colour different colours if their joints have members of different colours, or
// with different indices. It returns the number of colours.
func (r *refinement) refine() int {
	type coloured struct {
		colour uint64
		at     int32
	}
	var list []coloured
	for g, members := range r.members {
		list = list[:0]
		for _, m := range members {
			list = append(list, coloured{r.colours[m.rank], m.at})
		}
		slices.SortFunc(list, func(a, b coloured) int { return cmp.Or(cmp.Compare(a.colour, b.colour), cmp.Compare(a.at, b.at)) })
		var h maphash.Hash
		h.SetSeed(seed)
		for _, c := range slices.Compact(list) { // members of one class with the same index count once
			maphash.WriteComparable(&h, c)
		}
		r.meets[g] = h.Sum64()
	}
	found := map[uint64]bool{}
	for place := range r.colours {
		var h maphash.Hash
		h.SetSeed(seed)
		maphash.WriteComparable(&h, r.colours[place])
		for _, g := range r.of[place] {
			maphash.WriteComparable(&h, r.meets[g])
		}
		r.colours[place] = h.Sum64()
		found[r.colours[place]] = true
	}
	return len(found)
}

// classes converts the colours to classes, numbered by their first ranks.
func (r *refinement) classes() *classes {
	c := &classes{}
	numbers, groups := map[uint64]int32{}, map[uint64]int32{}
	for place, colour := range r.colours {
		class, known := numbers[colour]
		if !known {
			class = int32(len(c.first))
			numbers[colour] = class
			c.first = append(c.first, int32(place))
		}
		c.of = append(c.of, class)
	}
	for _, place := range c.first {
		joints := make([]int32, len(r.of[place]))
		for at, g := range r.of[place] {
			group, known := groups[r.meets[g]]
			if !known {
				group = int32(len(c.meet))
				groups[r.meets[g]] = group
				c.meet = append(c.meet, c.standIn(r.members[g]))
			}
			joints[at] = group
		}
		c.groups = append(c.groups, joints)
	}
	return c
}

// standIn returns the members of a joint, one for each class and index.
func (c *classes) standIn(members []member) []member {
	var list []member
	for _, m := range members {
		if one := (member{c.of[m.rank], m.at}); !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}
