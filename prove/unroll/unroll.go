package unroll

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
)

// Unroll issues a program on every rank. nodes[r] is the node of rank r; ranks of one node can share memory. nil: all ranks are
// on one node. Operations that cannot be issued are in the faults of the result. Unroll returns an error if no operation can be
// issued, because the program has no mesh or the world does not have the ranks 0, 1, and so on.
func Unroll(p *calls.Program, nodes []int) (*Program, error) { return Some(p, nodes, nil) }

// Some is Unroll for some ranks only (nil: all), to find faults quickly. The other ranks have no operations.
func Some(p *calls.Program, nodes []int, ranks []int32) (*Program, error) {
	if len(p.Meshes) == 0 {
		return nil, fmt.Errorf("program %s has no mesh", p.Name)
	}
	for i, r := range p.Ranks() {
		if int64(i) != r {
			return nil, fmt.Errorf("rank %d of the world of program %s is called %d", i, p.Name, r)
		}
	}
	u := newUnroller(p, nodes)
	u.out.Ranks = make([]Rank, u.world.Size)
	for r := range u.out.Ranks {
		u.out.Ranks[r].Has = u.world.Has(int32(r))
	}
	for r := range u.out.Ranks {
		if ranks == nil || slices.Contains(ranks, int32(r)) {
			u.rank(int32(r))
		}
	}
	return u.out, nil
}

// unroller is the state that all ranks share.
type unroller struct {
	world   *issue.World
	out     *Program
	numbers map[calls.Stmt]int32
	effects *effects.Table
	known   map[calls.Stmt][]operand
	layouts map[string]int32
	said    map[string]bool
	oneByte int32 // number of the layout of a single byte; -1: not numbered so far
}

func newUnroller(p *calls.Program, nodes []int) *unroller {
	w := issue.New(p, nodes)
	w.KernelsCount = w.KernelsCount || p.Graph
	u := &unroller{
		world: w, out: &Program{World: w}, numbers: map[calls.Stmt]int32{}, effects: effects.New(p), known: map[calls.Stmt][]operand{},
		layouts: map[string]int32{}, said: map[string]bool{}, oneByte: -1,
	}
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		u.numbers[s] = int32(len(u.out.Stmts))
		u.out.Stmts = append(u.out.Stmts, s)
		return true
	})
	return u
}

// layout returns the number of a layout, and numbers it on first use.
func (u *unroller) layout(size int64, extents, strides []int64) int32 {
	key := make([]byte, 0, 64)
	key = append(key, byte(size))
	for i := range extents {
		key = appendNumber(appendNumber(key, extents[i]), strides[i])
	}
	if n, ok := u.layouts[string(key)]; ok {
		return n
	}
	n := int32(len(u.out.Layouts))
	u.layouts[string(key)] = n
	u.out.Layouts = append(u.out.Layouts, newLayout(size, extents, strides))
	return n
}

func appendNumber(key []byte, v int64) []byte {
	for range 8 {
		key = append(key, byte(v))
		v >>= 8
	}
	return key
}
