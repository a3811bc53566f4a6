package place

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// choice is how one statement runs: placements of its operands and its results, and the time.
type choice struct {
	in, out []Placements
	reads   []byte  // the numbers of in
	makes   []byte  // the numbers of out, or of the stated placements
	us      float64 // of the work on a rank, and of changes to stated placements
}

// graph is a program as the search sees it.
type graph struct {
	*pricing
	body    []hostir.Stmt
	choices [][]choice                    // of each statement
	uses    [][]*hostir.Tensor            // its operands
	defs    [][]*hostir.Tensor            // its results
	last    map[*hostir.Tensor]int        // the last statement that reads a tensor
	fixed   map[*hostir.Tensor]Placements // of inputs, outputs, and tensors that the spec places
	views   map[*hostir.Tensor]view       // how to make the tensors that are views of others
	forms   map[*hostir.Tensor]*forms
}

// view is a statement that computes nothing. It has no choice: the search makes its result again in each placement that is read.
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

// reads records that a statement reads a tensor, and the tensors that it is a view of.
func (g *graph) reads(t *hostir.Tensor, at int) {
	g.last[t] = at
	if v, isView := g.views[t]; isView {
		g.reads(hostir.Uses(v.stmt)[0], at)
	}
}

// choicesOf combines the ways of a statement over the axes of the mesh.
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

// extend adds the placements along one more mesh axis.
func extend(list []Placements, by []Placement) []Placements {
	out := make([]Placements, len(list))
	for i := range list {
		out[i] = list[i] + placements(by[i])
	}
	return out
}

// held has the placements in which a tensor is there: as it was made, and those that it was changed to.
type held struct {
	*forms
	have string // the numbers of the placements
}

// state is an assignment of the first statements.
type state struct {
	us     float64
	bytes  int64  // of all tensors that were made
	live   []held // tensors that later statements read, in the order of their numbers
	chosen int    // the choice of the last statement
	before *state
}

// key identifies what later statements see of a state.
func (s *state) key() string {
	var b strings.Builder
	for _, h := range s.live {
		b.WriteString(strconv.Itoa(h.id) + ":" + h.have + "/")
	}
	return b.String()
}

// search returns the cheapest assignment: the number of the choice of each statement, and the time. It goes through the statements in
// order, and keeps the cheapest of all states that look the same to the statements that follow, and the beam cheapest of all. It finds
// the least time of all assignments if there are never more states than that. Ties go to less memory, then to the earlier choice.
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
	g.number()
	s := &state{}
	for t, f := range g.forms {
		if _, made := g.fns[t]; !made {
			s.live = append(s.live, held{f, "\x00"})
		}
	}
	slices.SortFunc(s.live, func(a, b held) int { return a.id - b.id })
	return s
}

// undominated keeps a state if it is cheaper than each kept state would be after the same changes of placement. It keeps most states
// at most.
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

// compared is the number of the cheapest states that others are compared with.
const compared = 32

// covers reports whether a state is as cheap as another, even after the changes that only the other has made.
func (s *state) covers(other *state) bool {
	us := s.us
	for _, h := range other.live {
		have := s.have(h.forms)
		for k := 0; have != h.have && k < len(h.have) && us <= other.us; k++ {
			if strings.IndexByte(have, h.have[k]) < 0 {
				us += s.paths(h.forms)[h.have[k]].us
			}
		}
	}
	return us <= other.us
}

// compare orders states by time, then by memory.
func compare(a, b *state) int {
	return cmp.Or(cmp.Compare(a.us, b.us), cmp.Compare(a.bytes, b.bytes))
}

// next is the state after statement i runs by choice n, or nil if an operand cannot be there.
func (g *graph) next(s *state, i, n int) *state {
	c := &g.choices[i][n]
	next := &state{us: s.us + c.us, bytes: s.bytes, live: slices.Clone(s.live), chosen: n, before: s}
	for k, t := range g.uses[i] {
		if !next.read(g.forms[t], c.reads[k]) {
			return nil
		}
	}
	for k, t := range g.defs[i] {
		next.add(g.forms[t], c.makes[k])
	}
	next.live = slices.DeleteFunc(next.live, func(h held) bool { return g.last[h.tensor] <= i })
	return next
}
