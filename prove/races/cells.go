package races

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/prove/unroll"
)

// place identifies a cell among the memories of a rank.
type place struct {
	offset         int64
	memory, layout int32
}

// accessOf identifies an access by its rank, and its index in Rank.Accesses.
type accessOf struct{ rank, access int32 }

// newFinder makes the cells of a program, and finds which of them share bytes. It handles the owners one after the other, to
// keep its tables small.
func newFinder(p *unroll.Program) *finder {
	f := &finder{p: p, of: make([][]int32, len(p.Ranks)), said: map[[2]operand]bool{}}
	of := make([][]accessOf, len(p.Ranks)) // accesses by owner of the memory
	for r := range p.Ranks {
		f.of[r] = make([]int32, len(p.Ranks[r].Accesses))
		for i := range p.Ranks[r].Accesses {
			owner := p.Ranks[r].Accesses[i].Owner
			of[owner] = append(of[owner], accessOf{int32(r), int32(i)})
		}
	}
	m := &meeter{p: p, known: map[place]int32{}}
	for _, accesses := range of {
		f.add(m, accesses)
	}
	return f
}

// add makes the cells of one owner's memories from the accesses to them.
func (f *finder) add(m *meeter, accesses []accessOf) {
	clear(m.known)
	m.places = m.places[:0]
	before := int32(len(f.cells))
	for _, at := range accesses {
		a := &f.p.Ranks[at.rank].Accesses[at.access]
		key := place{a.Offset, a.Memory, a.Layout}
		n, ok := m.known[key]
		if !ok {
			n = int32(len(m.places))
			m.known[key] = n
			m.places = append(m.places, key)
		}
		f.of[at.rank][at.access] = before + n
	}
	m.meet()
	f.cells = slices.Grow(f.cells, len(m.places))
	for n := range m.places {
		c := cell{first: int32(len(f.meets)), write: never, read: never}
		for _, other := range m.meets[n] {
			f.meets = append(f.meets, neighbor{before + other.cell, other.first})
		}
		c.end = int32(len(f.meets))
		f.cells = append(f.cells, c)
	}
}

// meeter finds which cells of an owner share bytes.
type meeter struct {
	p      *unroll.Program
	known  map[place]int32
	places []place      // by cell
	meets  [][]neighbor // by cell
	order  []int32
}

// meet sorts the cells of each memory by their first bytes. It compares each cell with the cells that begin before it
// and whose spans reach its first byte.
func (m *meeter) meet() {
	m.order = m.order[:0]
	for n := range m.places {
		if n == len(m.meets) {
			m.meets = append(m.meets, nil)
		}
		m.meets[n] = append(m.meets[n][:0], neighbor{int32(n), m.places[n].offset})
		m.order = append(m.order, int32(n))
	}
	slices.SortFunc(m.order, func(a, b int32) int {
		x, y := &m.places[a], &m.places[b]
		return cmp.Or(cmp.Compare(x.memory, y.memory), cmp.Compare(x.offset, y.offset), cmp.Compare(a, b))
	})
	var open []int32
	for _, n := range m.order {
		c := &m.places[n]
		open = slices.DeleteFunc(open, func(o int32) bool {
			before := &m.places[o]
			return before.memory != c.memory || before.offset+m.p.Layouts[before.layout].Span <= c.offset
		})
		for _, o := range open {
			before := &m.places[o]
			if at, ok := unroll.Overlap(m.p.Layouts[before.layout], m.p.Layouts[c.layout], c.offset-before.offset); ok {
				first := before.offset + at
				m.meets[n] = append(m.meets[n], neighbor{o, first})
				m.meets[o] = append(m.meets[o], neighbor{n, first})
			}
		}
		open = append(open, n)
	}
}
