package spinning

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/prove/events"
)

// cycles finds a shortest cycle through each kernel that is in one. It keeps one cycle for each set of statements.
func (f *finder) cycles() []Cycle {
	blockers := f.blockers()
	var list []Cycle
	said := map[string]bool{}
	for start := range blockers {
		path := shortest(blockers, start)
		if path == nil {
			continue
		}
		var cycle Cycle
		var stmts []int32
		for _, n := range path {
			at := f.spins[n].at
			cycle = append(cycle, at)
			stmts = append(stmts, f.p.Ranks[at.Rank].Ops[at.Op].Stmt)
		}
		slices.Sort(stmts)
		if key := fmt.Sprint(slices.Compact(stmts)); !said[key] {
			said[key] = true
			list = append(list, cycle)
		}
	}
	return list
}

// blockers lists, for each waiting kernel, the kernels that block it.
func (f *finder) blockers() [][]int {
	slices.SortFunc(f.spins, func(a, b spin) int { return compare(a.at, b.at) })
	list := make([][]int, len(f.spins))
	for blocked := range f.spins {
		for holder := range f.spins {
			if f.blocks(&f.spins[holder], &f.spins[blocked]) {
				list[blocked] = append(list[blocked], holder)
			}
		}
	}
	return list
}

func compare(a, b events.Point) int {
	return slices.Compare([]int32{a.Call, a.Rank, a.Op}, []int32{b.Call, b.Rank, b.Op})
}

// shortest returns the nodes of a shortest cycle through a node; nil if there is none.
func shortest(next [][]int, start int) []int {
	from := map[int]int{}
	queue := []int{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, n := range next[at] {
			if n == start {
				path := []int{at}
				for at != start {
					at = from[at]
					path = append(path, at)
				}
				slices.Reverse(path)
				return path
			}
			if _, seen := from[n]; !seen {
				from[n] = at
				queue = append(queue, n)
			}
		}
	}
	return nil
}
