package place

import (
	"cmp"
	"slices"
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
	forms   map[*hostir.Tensor]*forms
}

// newGraph lists the choices of each statement.
func newGraph(body []hostir.Stmt, p *pricing) *graph {
	g := &graph{pricing: p, body: body, last: map[*hostir.Tensor]int{}, fixed: map[*hostir.Tensor]Placements{}}
	p.fns, p.traffic = map[*hostir.Tensor]string{}, trafficOf(body)
	for i, s := range body {
		for _, t := range hostir.Mentions(s) {
			if g.last[t] = i; !t.Inferred || t.Role == hostir.Input || t.Role == hostir.Output {
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
		g.uses, g.defs = append(g.uses, hostir.Uses(s)), append(g.defs, hostir.Defs(s))
		g.choices = append(g.choices, g.choicesOf(s))
	}
	return g
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

// held is a tensor as it was made, and the other placements that it was changed to.
type held struct {
	*forms
	have string // the numbers of the placements
}

// state is an assignment of the first statements.
type state struct {
	us     float64
	bytes  int64  // of all tensors that were made
	live   []held // tensors that later statements read, in the order in which they were made
	chosen int    // the choice of the last statement
	before *state
}

// key identifies what later statements see of a state.
func (s *state) key() string {
	var b strings.Builder
	for _, h := range s.live {
		b.WriteString(h.have)
		b.WriteByte('/')
	}
	return b.String()
}

// search returns the cheapest assignment: the number of the choice of each statement, and the time. It goes through the statements in
// order, and keeps the cheapest of all states that look the same to the statements that follow, and the beam cheapest of all. It finds
// the least time of all assignments if there are never more states than that. Ties go to less memory, then to the earlier choice.
func (g *graph) search(beam int) (chosen []int, us float64) {
	g.number()
	states := []*state{{}}
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
	for i, h := range other.live {
		have := s.live[i].have
		for k := 0; have != h.have && k < len(h.have) && us <= other.us; k++ {
			time, possible := h.nearest(have, h.have[k])
			if !possible {
				return false
			}
			us += time
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
		f := g.forms[t]
		next.bytes += f.bytes[c.makes[k]]
		next.live = append(next.live, held{f, string(c.makes[k : k+1])})
	}
	next.live = slices.DeleteFunc(next.live, func(h held) bool { return g.last[h.tensor] <= i })
	return next
}

// read makes a tensor available in a placement.
func (s *state) read(f *forms, at byte) bool {
	n := slices.IndexFunc(s.live, func(h held) bool { return h.forms == f })
	if n < 0 { // an input
		n = len(s.live)
		s.live = append(s.live, held{f, "\x00"})
	}
	h := &s.live[n]
	us, possible := f.nearest(h.have, at)
	if possible && us > 0 {
		s.us, s.bytes = s.us+us, s.bytes+f.bytes[at]
		h.have += string([]byte{at})
	}
	return possible
}
