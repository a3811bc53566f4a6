// Package races finds pairs of unordered accesses to the same bytes, of which at least one is a write.
//
// The memory of each rank is divided into cells, one for each place and layout of an operand. A cell records its last write, and
// the last read of each thread since then. An access is compared with the accesses that its own cell and all overlapping cells
// record. By the clocks of package events, it has to follow each conflicting one. Package events reports an operation after all
// operations that it follows. So one comparison for each pair is enough, and a cell can forget an access when a later one
// replaces it.
package races

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hirgen/hirgen/prove/events"
	"github.com/hirgen/hirgen/prove/unroll"
)

// Race is two unordered accesses, and a byte that both access.
type Race struct {
	First, Second             events.Point
	FirstAccess, SecondAccess int32 // indices in the Accesses of their ranks
	Byte                      int64 // offset in the memory
}

// Most is the largest number of races that are reported. One cause usually makes many races.
const Most = 20

// Find checks the given number of consecutive calls.
//
// Clocks that cover few ranks miss orders, so they can show races that do not exist, but cannot hide one. Find first makes the
// clocks of a rank cover only the ranks that access memory of the same owners. If that finds a race, it repeats the check with
// clocks of all ranks.
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

// neighbors lists, for each rank, itself and all ranks that access memory of the same owners. It returns nil if the
// program has no shares, so that ranks access only their own memory.
func neighbors(p *unroll.Program) [][]int32 {
	if len(p.Shares) == 0 {
		return nil
	}
	users := make([]map[int32]bool, len(p.Ranks)) // ranks that use the memories of each rank, including the rank itself
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

// finder observes all accesses.
type finder struct {
	p     *unroll.Program
	of    [][]int32 // by rank and access: the number of its cell
	cells []cell
	meets []neighbor // lists of all cells, concatenated
	races []Race
	said  map[[2]operand]bool
}

// cell is an operand's place in the memory of a rank.
type cell struct {
	first, end int32 // of meets: overlapping cells, including the cell itself
	write      use   // the last write
	read       use   // the last read of one thread since the write
	more       []use // the last reads of other threads
}

// neighbor is a cell that shares a byte with a given cell, or is that cell.
type neighbor struct {
	cell  int32
	first int64 // a byte of the memory that both contain
}

type use struct {
	at     events.Point
	access int32
}

// never marks a cell without a recorded read or write.
var never = use{access: -1}

// Accesses compares the accesses of an operation with earlier ones, then records them.
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
	if first.at.Rank == second.at.Rank && first.at.Thread == second.at.Thread ||
		behind.Covers(first.at.Rank, first.at.Thread, first.at.Epoch) {
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

// earlier defines the order of the two accesses in a report: by call, rank and issue.
func earlier(a, b events.Point) bool {
	return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Op, b.Op)) < 0
}

// operand is an operand of a statement on any rank. Each pair of operands is reported once.
type operand struct {
	kind        unroll.Kind
	stmt, place int32
}

func (f *finder) operand(u use) operand {
	o := &f.p.Ranks[u.at.Rank].Ops[u.at.Op]
	return operand{o.Kind, o.Stmt, u.access - o.Accesses.First}
}

// add records a use. A write replaces all earlier uses: whatever follows the write also follows them. A read replaces the last
// read of the same thread.
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
