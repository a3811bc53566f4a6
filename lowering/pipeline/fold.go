package pipeline

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// edges combines the edges between instances, on all ranks, into edges between tasks.
type edges struct {
	found map[[2]int]*Edge
	seen  map[[2]int]map[string]bool // distances already recorded, encoded as strings, by the ids of both tasks
}

func newEdges() *edges {
	return &edges{found: map[[2]int]*Edge{}, seen: map[[2]int]map[string]bool{}}
}

// collect adds the edges of one rank.
func (f *edges) collect(u *unroller) {
	for _, p := range u.pairs {
		from, to := u.instances[p.from], u.instances[p.to]
		key := [2]int{from.task.id, to.task.id}
		e := f.found[key]
		if e == nil {
			e = &Edge{From: from.task, To: to.task, Kind: p.kind}
			f.found[key], f.seen[key] = e, map[string]bool{}
		}
		if p.kind == Data {
			e.Kind = Data
		}
		text := make([]byte, 0, 32)
		n := common(from.task, to.task)
		for i := range n {
			text = binary.AppendVarint(text, to.iter[i]-from.iter[i])
		}
		if f.seen[key][string(text)] {
			continue
		}
		f.seen[key][string(text)] = true
		steps := make([]int64, n)
		for i := range steps {
			steps[i] = to.iter[i] - from.iter[i]
		}
		e.Distances = append(e.Distances, steps)
	}
}

// list returns the edges in the order of the tasks.
func (f *edges) list() []*Edge {
	list := make([]*Edge, 0, len(f.found))
	for _, e := range f.found {
		slices.SortFunc(e.Distances, slices.Compare)
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *Edge) int {
		return cmp.Or(cmp.Compare(a.From.id, b.From.id), cmp.Compare(a.To.id, b.To.id))
	})
	return list
}
