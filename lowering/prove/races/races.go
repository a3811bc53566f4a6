// Package races finds accesses to the same bytes, one of them a write, that nothing orders.
//
// The memory of each rank is cut into cells: an operand's place and layout. A cell remembers its last writes and
// reads. An access is compared with what its own cell and all cells that share a byte with it remember, and has
// to be behind each of that, by the clocks of package events. As those come in an order of all that follows, one
// comparison for each pair is enough, and what a later access of a cell is behind need not be remembered.
package races

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hirgen/hirgen/lowering/prove/events"
	"github.com/hirgen/hirgen/lowering/prove/unroll"
)

// Race is two accesses that nothing orders, and a byte that both touch.
type Race struct {
	First, Second             events.Point
	FirstAccess, SecondAccess int32 // numbers in their ranks
	Byte                      int64 // of the memory
}

// Most is how many races are reported: one cause has many.
const Most = 20

// Find looks at so many calls in a row.
//
// Clocks that tell of few ranks miss orders, and find no fewer races. So those of a rank tell first of the ranks that
// access the same memories, which is often enough, and of all ranks only if a race is found in this way.
func Find(p *unroll.Program, calls int) []Race {
	for _, known := range [][][]int32{neighbors(p), events.All(p)} {
		f := newFinder(p)
		events.Run(p, events.Options{Calls: calls, Observer: f, Known: known})
		if len(f.races) == 0 || len(known) > 0 && len(known[0]) == len(p.Ranks) {
			return f.races
		}
	}
	return nil
}

// neighbors lists, for each rank, the ranks that access a memory that it accesses; nil if ranks access their own alone.
func neighbors(p *unroll.Program) [][]int32 {
	if len(p.Shares) == 0 {
		return nil
	}
	users := make([]map[int32]bool, len(p.Ranks)) // of the memories of each rank
	for r := range users {
		users[r] = map[int32]bool{int32(r): true}
	}
	for r := range p.Ranks {
		for i := range p.Ranks[r].Accesses {
			if owner := p.Ranks[r].Accesses[i].Owner; owner != int32(r) {
				users[owner][int32(r)] = true
			}
		}
	}
	known := make([]map[int32]bool, len(p.Ranks))
	for r := range known {
		known[r] = map[int32]bool{}
	}
	for _, list := range users {
		for r := range list {
			maps.Copy(known[r], list)
		}
	}
	all, lists := events.All(p)[0], make([][]int32, len(known))
	for r := range known {
		if lists[r] = all; len(known[r]) < len(all) {
			lists[r] = slices.Sorted(maps.Keys(known[r]))
		}
	}
	return lists
}

// finder is told of all accesses.
type finder struct {
	p     *unroll.Program
	of    [][]int32 // by rank and access: its cell
	cells []cell
	meets []neighbor // of all cells, one after the other
	races []Race
	said  map[[2]operand]bool
}

// cell is an operand's place in the memory of a rank.
type cell struct {
	first, end int32 // of meets: cells that share bytes with it, itself included
	write      use   // the last one
	read       use   // since then, the last of a thread
	more       []use // of other threads
}

// neighbor is a cell that shares a byte with another one, or is that one.
type neighbor struct {
	cell  int32
	first int64 // byte of the memory that both have
}

type use struct {
	at     events.Point
	access int32
}

// never is no use.
var never = use{access: -1}

// Accesses compares the accesses of an operation with those before.
func (f *finder) Accesses(at events.Point, behind *events.Clock) {
	r := &f.p.Ranks[at.Rank]
	o := &r.Ops[at.Op]
	for n := o.Accesses.First; n < o.Accesses.End; n++ {
		f.compare(use{at, n}, behind, r.Accesses[n].Write)
	}
	for n := o.Accesses.First; n < o.Accesses.End; n++ {
		f.cells[f.of[at.Rank][n]].add(use{at, n}, r.Accesses[n].Write)
	}
}

func (f *finder) compare(second use, behind *events.Clock, write bool) {
	own := &f.cells[f.of[second.at.Rank][second.access]]
	for _, n := range f.meets[own.first:own.end] {
		other := &f.cells[n.cell]
		f.ordered(&other.write, second, behind, n.first)
		if !write {
			continue
		}
		f.ordered(&other.read, second, behind, n.first)
		for i := range other.more {
			f.ordered(&other.more[i], second, behind, n.first)
		}
	}
}

func (f *finder) ordered(before *use, second use, behind *events.Clock, at int64) {
	if before.access < 0 {
		return
	}
	first := *before
	if first.at.Rank == second.at.Rank && first.at.Thread == second.at.Thread || behind.Covers(first.at.Rank, first.at.Thread, first.at.Epoch) {
		return
	}
	if earlier(second.at, first.at) {
		first, second = second, first
	}
	key := [2]operand{f.operand(first), f.operand(second)}
	if f.said[key] || len(f.races) == Most {
		return
	}
	f.said[key], f.said[[2]operand{key[1], key[0]}] = true, true
	f.races = append(f.races, Race{first.at, second.at, first.access, second.access, at})
}

// earlier reports whether an operation comes first to a reader: by call, rank and issue.
func earlier(a, b events.Point) bool {
	return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Op, b.Op)) < 0
}

// operand is an operand of a statement, whoever runs it. A pair of them is reported once.
type operand struct {
	kind        unroll.Kind
	stmt, place int32
}

func (f *finder) operand(u use) operand {
	o := &f.p.Ranks[u.at.Rank].Ops[u.at.Op]
	return operand{o.Kind, o.Stmt, u.access - o.Accesses.First}
}

// add remembers a use. What a write is behind is behind all that comes after the write; and of one thread only
// the last read matters.
func (c *cell) add(u use, write bool) {
	same := func(other use) bool { return other.at.Rank == u.at.Rank && other.at.Thread == u.at.Thread }
	switch {
	case write:
		c.write, c.read, c.more = u, never, c.more[:0]
	case c.read.access < 0 || same(c.read):
		c.read = u
	default:
		if i := slices.IndexFunc(c.more, same); i >= 0 {
			c.more[i] = u
		} else {
			c.more = append(c.more, u)
		}
	}
}
