package place

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// choice is one way to run a statement over all mesh axes: the placements of its operands and results, and the time.
type choice struct {
	in, out []Placements
	reads   []byte  // the number of each placement of in, its index in forms.list of the operand
	makes   []byte  // the same for out; a result with a stated placement has the number of that placement
	us      float64 // time of the local work and of changes of results to stated placements, in microseconds
}

// graph is the program that the search works on.
type graph struct {
	*pricing
	body    []hostir.Stmt
	choices [][]choice                    // of each statement
	uses    [][]*hostir.Tensor            // its operands
	defs    [][]*hostir.Tensor            // its results
	last    map[*hostir.Tensor]int        // index of the last statement that reads a tensor
	fixed   map[*hostir.Tensor]Placements // of inputs, outputs, and other tensors that are not Inferred
	views   map[*hostir.Tensor]view       // the statements that make views, by result
	forms   map[*hostir.Tensor]*forms
}

// view is a statement whose result is a view of its operand. The search chooses no placement for the result. Instead,
// the view is made in each placement in which a statement reads it.
type view struct {
	stmt hostir.Stmt
	ways []choice
}

// newGraph lists the choices of each statement.
func newGraph(body []hostir.Stmt, p *pricing) *graph {
	g := &graph{
		pricing: p, body: body, last: map[*hostir.Tensor]int{}, fixed: map[*hostir.Tensor]Placements{}, views: map[*hostir.Tensor]view{},
	}
	p.fns, p.traffic = map[*hostir.Tensor]string{}, trafficOf(body)
	for i, s := range body {
		for _, t := range hostir.Mentions(s) {
			if !t.Inferred || t.Role == hostir.Input || t.Role == hostir.Output {
				g.fixed[t] = declared(t, p.mesh)
			}
		}
		fn := "sum"
		if r, ok := s.(*hostir.Reduce); ok {
			fn = r.Fn
		}
		for _, t := range hostir.Defs(s) {
			p.fns[t] = fn
		}
		uses, defs, choices := hostir.Uses(s), hostir.Defs(s), g.choicesOf(s)
		if _, fixed := g.fixed[defs[0]]; hostir.MakesView(s) && !fixed {
			g.views[defs[0]] = view{s, choices}
			uses, defs, choices = nil, nil, []choice{{}}
		}
		for _, t := range uses {
			g.reads(t, i)
		}
		g.uses, g.defs, g.choices = append(g.uses, uses), append(g.defs, defs), append(g.choices, choices)
	}
	return g
}

// reads records that statement number at reads a tensor. If the tensor is a view, the statement also reads the operand of the view.
func (g *graph) reads(t *hostir.Tensor, at int) {
	g.last[t] = at
	if v, isView := g.views[t]; isView {
		g.reads(hostir.Uses(v.stmt)[0], at)
	}
}

// choicesOf lists the choices of a statement: all combinations of one way for each mesh axis. It omits choices in which two mesh axes
// split the same axis, or an operand is partial under another function than sum.
func (g *graph) choicesOf(s hostir.Stmt) []choice {
	list := []choice{{in: make([]Placements, len(hostir.Uses(s))), out: make([]Placements, len(hostir.Defs(s)))}}
	for _, axis := range g.mesh.Axes {
		var next []choice
		for _, c := range list {
			for _, w := range waysOf(s, axis.Size) {
				next = append(next, choice{in: extend(c.in, w.in), out: extend(c.out, w.out)})
			}
		}
		list = next
	}
	return slices.DeleteFunc(list, func(c choice) bool {
		for i, t := range hostir.Uses(s) {
			if c.in[i].twice() || c.in[i].partial() && g.fns[t] != "sum" {
				return true
			}
		}
		return slices.ContainsFunc(c.out, Placements.twice)
	})
}

// extend appends to each element of a list the placement along the next mesh axis.
func extend(list []Placements, by []Placement) []Placements {
	out := make([]Placements, len(list))
	for i := range list {
		out[i] = list[i] + placements(by[i])
	}
	return out
}

// held is a family of which later statements read a node.
type held struct {
	*family
	reading
}

// state is a choice for each of the first statements of a program.
type state struct {
	price          // of the statements and of all changes for them; the bytes are of all tensors on a rank
	settled price  // without the trees of live families
	live    []held // sorted by id
	trees   []tree // that the last statement settled
	chosen  int    // the choice of the last statement
	before  *state
}

// mostNeeded limits the nodes that one tree reaches. Before a statement reads another node, the tree is settled. The next tree then
// starts from all nodes that exist.
const mostNeeded = 5

// key identifies the part of a state that later statements depend on.
func (s *state) key() string {
	var text []byte
	for _, h := range s.live {
		text = append(binary.LittleEndian.AppendUint32(text, uint32(len(h.have))), h.have...)
		text = append(binary.LittleEndian.AppendUint32(text, uint32(len(h.need))), h.need...)
	}
	return string(text)
}

// search returns the cheapest assignment that it finds: the number of the choice of each statement, and the time. It returns nil if it
// finds none. It is a beam search over the statements in order. Of the states with equal keys it keeps the cheapest. It drops states that
// others cover, and keeps at most beam of the rest. The result is optimal if there are never more than beam states, and no tree exceeds
// mostNeeded or mostBranches. Ties go to less memory, then to the earlier choice.
func (g *graph) search(beam int) (chosen []int, us float64) {
	states := []*state{g.begin()}
	for i := range g.body {
		best := map[string]*state{}
		var order []string
		for _, s := range states {
			for n := range g.choices[i] {
				next := g.next(s, i, n)
				if next == nil {
					continue
				}
				key := next.key()
				if old := best[key]; old == nil {
					order = append(order, key)
				} else if compare(old, next) <= 0 {
					continue
				}
				best[key] = next
			}
		}
		before := states
		states = make([]*state, 0, len(order))
		for _, key := range order {
			states = append(states, best[key])
		}
		slices.SortStableFunc(states, compare)
		for _, s := range before {
			s.live = nil // only the choices are needed from here on
		}
		states = undominated(states, beam)
	}
	if len(states) == 0 {
		return nil, 0
	}
	chosen = make([]int, len(g.body))
	for i, s := len(g.body)-1, states[0]; i >= 0; i, s = i-1, s.before {
		chosen[i] = s.chosen
	}
	return chosen, states[0].us
}

// begin numbers the placements and returns the state before the first statement.
func (g *graph) begin() *state {
	if g.forms == nil {
		g.number()
	}
	s := &state{}
	for t, f := range g.forms {
		if _, made := g.fns[t]; !made {
			s.live = append(s.live, held{f.family, reading{have: with("", node{f, 0})}})
		}
	}
	slices.SortFunc(s.live, func(a, b held) int { return a.id - b.id })
	return s
}

// undominated drops each state that a kept state covers, and keeps the first most of the others. It only looks at the
// cheapest kept states, as many as the constant compared says. The states must be sorted by compare.
func undominated(states []*state, most int) (kept []*state) {
	for _, s := range states {
		if len(kept) == most {
			break
		}
		if !slices.ContainsFunc(kept[:min(len(kept), compared)], func(k *state) bool { return k.covers(s) }) {
			kept = append(kept, s)
		}
	}
	return kept
}

// compared is the number of kept states, the cheapest ones, with which undominated compares a state.
const compared = 32

// covers reports whether a state takes no longer than another, whatever statements follow. It compares the work of both, plus the
// changes by which this state gets all that the other one has. Both are after the same statement, so they have the same live
// families.
func (s *state) covers(other *state) bool {
	us := s.settled.us
	for k := 0; k < len(s.live) && us <= other.settled.us; k++ {
		if h, o := &s.live[k], &other.live[k]; h.reading != o.reading {
			us += h.join(h.reading, o.reading)
		}
	}
	return us <= other.settled.us
}

// compare orders states by time, then by memory.
func compare(a, b *state) int {
	return cmp.Or(cmp.Compare(a.us, b.us), cmp.Compare(a.bytes, b.bytes))
}

// next returns the state after statement i runs by choice n, or nil if an operand cannot be changed to the placement that n reads.
func (g *graph) next(s *state, i, n int) *state {
	c := &g.choices[i][n]
	next := &state{price: s.add(price{us: c.us}), settled: s.settled.add(price{us: c.us}), live: slices.Clone(s.live), chosen: n, before: s}
	for k, t := range g.uses[i] {
		if !g.read(next, i, node{g.forms[t], c.reads[k]}) {
			return nil
		}
	}
	for k, t := range g.defs[i] {
		f := g.forms[t]
		at, _ := next.find(f.family)
		next.live = slices.Insert(next.live, at, held{f.family, reading{have: with("", node{f, c.makes[k]})}})
		next.bytes, next.settled.bytes = next.bytes+f.bytes[c.makes[k]], next.settled.bytes+f.bytes[c.makes[k]]
	}
	for k := range next.live {
		if h := &next.live[k]; g.ends(h, i) {
			g.settle(next, h, i)
		}
	}
	next.live = slices.DeleteFunc(next.live, func(h held) bool { return g.ends(&h, i) })
	return next
}

// ends reports whether no statement after number i reads a family.
func (g *graph) ends(h *held, i int) bool { return g.last[h.members[0].tensor] <= i }

// settle makes the nodes of a family's tree, and keeps those that statements after number i may read.
func (g *graph) settle(s *state, h *held, i int) {
	t := h.tree(h.reading)
	s.settled, s.trees = s.settled.add(t.price), append(s.trees, t)
	list := h.nodes(h.have)
	for _, e := range t.edges {
		list = append(list, e.to)
	}
	h.reading = reading{}
	for _, n := range list {
		if g.last[n.of.tensor] > i {
			h.have = with(h.have, n)
		}
	}
}

// find returns the index of a family in live, or the index at which it would be inserted.
func (s *state) find(f *family) (n int, found bool) {
	return slices.BinarySearchFunc(s.live, f.id, func(h held, id int) int { return h.id - id })
}

// read adds a node that statement i reads, and returns false if it cannot be made. If the family's tree reaches mostNeeded nodes, read
// settles it first.
func (g *graph) read(s *state, i int, n node) (possible bool) {
	at, found := s.find(n.of.family)
	if !found {
		return false
	}
	h := &s.live[at]
	if with(h.have, n) == h.have || with(h.need, n) == h.need {
		return true
	}
	if len(h.need) == mostNeeded*nodeSize {
		g.settle(s, h, i-1)
		if with(h.have, n) == h.have {
			return true
		}
	}
	before := h.tree(h.reading)
	h.need = with(h.need, n)
	after := h.tree(h.reading)
	s.us, s.bytes = s.us-before.us+after.us, s.bytes-before.bytes+after.bytes
	return after.possible()
}
