package place

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// choice is one way to run a statement over all mesh axes: the placements of its operands and results, and the time.
type choice struct {
	in, out []Placements
	reads   []byte  // the numbers of in, as forms numbers them
	makes   []byte  // the numbers of out, or of the stated placements of results
	us      float64 // of the local work, and of changes of results to stated placements
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

// view is a statement whose result is a view of its operand. The search chooses no placement for the result. It makes the view anew in
// each placement that a statement reads.
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

// held is a tensor with the placements in which it is available: as an input or result, or after a change.
type held struct {
	*forms
	have string // the numbers of these placements, one byte each
}

// state is a choice for each of the first statements of a program.
type state struct {
	us     float64
	bytes  int64  // on one rank, of all tensors made so far, in all their placements
	live   []held // tensors that later statements read, sorted by id
	chosen int    // the choice of the last statement
	before *state
}

// key identifies the part of a state that later statements depend on.
func (s *state) key() string {
	var b strings.Builder
	for _, h := range s.live {
		b.WriteString(strconv.Itoa(h.id) + ":" + h.have + "/")
	}
	return b.String()
}

// search returns the cheapest assignment that it finds: the number of the choice of each statement, and the time. It returns nil if it
// finds none. It is a beam search over the statements in order. Of the states with equal keys it keeps the cheapest. It drops states that
// others cover, and keeps at most beam of the rest. The result is optimal if there are never more than beam states. Ties go to less
// memory, then to the earlier choice.
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

// undominated drops each state that one of the first compared kept states covers, and keeps the first most of the others. The
// states must be sorted by compare.
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

// covers reports whether a state takes no longer than another, even if it adds the changes that only the other has made.
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

// next returns the state after statement i runs by choice n, or nil if an operand cannot be changed to the placement that n reads.
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
