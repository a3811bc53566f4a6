package unroll

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Unroll issues a program on every rank. nodes[r] is the node of rank r; ranks of one node can share memory. nil: all ranks are
// on one node. Operations that cannot be issued are in the faults of the result. Unroll returns an error if no operation can be
// issued, because the world does not have the ranks 0, 1, and so on.
func Unroll(p *calls.Program, nodes []int) (*Program, error) { return Some(p, nodes, nil) }

// Some issues a program on some ranks (nil: all), to find faults quickly.
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
	u.out.Ranks = make([]Rank, u.world.size)
	for r := range u.out.Ranks {
		u.out.Ranks[r].Has = u.has(int32(r))
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
	out        *Program
	program    *calls.Program
	nodes      []int
	world      *world
	scope      *scope
	numbers    map[calls.Stmt]int32
	memories   map[string]int32 // by the names of pointers' bases
	parts      map[string]*part // of memories, alike
	streams    map[string]int16
	events     map[string]events
	shares     map[string]int32
	effects    *effects.Table
	known      map[calls.Stmt][]operand
	layouts    map[string]int32
	said       map[string]bool
	computes   []int16          // streams, by index; 0: not numbered so far
	teams      map[string]int16 // their streams
	oneByte    int32            // the layout of a byte; -1: not numbered so far
	workspaces int32            // the workspace of the caller's stream; compute streams have the next numbers
	allEvents  int32
}

// events numbers the events of a set.
type events struct{ first, count int32 }

func newUnroller(p *calls.Program, nodes []int) *unroller {
	u := &unroller{
		out: &Program{Calls: p}, program: p, nodes: nodes, world: newWorld(p), scope: newScope(p), numbers: map[calls.Stmt]int32{},
		memories: map[string]int32{}, parts: map[string]*part{}, streams: map[string]int16{}, events: map[string]events{},
		shares:  map[string]int32{},
		effects: effects.New(p), known: map[calls.Stmt][]operand{}, layouts: map[string]int32{}, said: map[string]bool{},
		computes: make([]int16, p.Streams), teams: map[string]int16{}, oneByte: -1,
	}
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		u.numbers[s] = int32(len(u.out.Stmts))
		u.out.Stmts = append(u.out.Stmts, s)
		return true
	})
	u.out.Comms = u.world.communicators(p)
	u.stream(calls.Caller)
	u.stream(calls.Copies)
	first := int32(0)
	for _, d := range p.Events {
		n := int32(u.constant(d.Count))
		u.events[d.Name] = events{first, n}
		first += n
	}
	u.allEvents = first
	u.declareMemories()
	return u
}

// stream returns the number of a stream.
func (u *unroller) stream(name string) int16 {
	n, ok := u.streams[name]
	if !ok {
		n = int16(len(u.out.Streams))
		u.streams[name] = n
		u.out.Streams = append(u.out.Streams, name)
	}
	return n
}

// constant evaluates an expression that is the same on all ranks; 0 if it has no value.
func (u *unroller) constant(e expr.Expr) int64 {
	if e == nil {
		return 0
	}
	v, ok := u.scope.compile(e).eval(nil)
	if !ok {
		return 0
	}
	return v
}

// layout returns the number of a layout.
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
