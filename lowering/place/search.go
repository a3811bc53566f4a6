package place

import (
	"cmp"
	"slices"
)

// state is a choice for each of the first statements of a program.
type state struct {
	price         // of the statements and of all changes for them; the bytes are of all tensors on a rank
	settled price // without the trees of live families
	live
	trees  []tree // that the last statement settled
	chosen int    // the choice of the last statement
	before *state
}

// mostNeeded limits the nodes that one tree reaches. Before a statement reads another node, the tree is settled. The next tree then
// starts from all nodes that exist.
const mostNeeded = 5

// search returns the cheapest assignment that it finds: the number of the choice of each statement, and the time. It returns nil if it
// finds none. It is a beam search over the statements in order. Of the states with equal keys it keeps the cheapest. It drops states that
// others cover, and keeps at most beam of the rest. The result is optimal if there are never more than beam states, and no tree exceeds
// mostNeeded or mostBranches. Ties go to less memory, then to the earlier choice.
func (g *graph) search(beam int) (chosen []int, us float64) {
	states := []*state{g.begin()}
	for i, stmt := range g.body {
		if g.foreign[stmt] { // it has no choice
			continue
		}
		best := map[digest]int{} // index in after
		var after []*state
		for _, s := range states {
			for n := range g.choices[i] {
				next := g.next(s, i, n)
				if next == nil {
					continue
				}
				if at, known := best[next.sum]; !known {
					best[next.sum] = len(after)
					after = append(after, next)
				} else if compare(next, after[at]) < 0 {
					after[at] = next
				}
			}
		}
		slices.SortStableFunc(after, compare)
		for _, s := range states {
			s.live = live{} // only the choices are needed from here on
		}
		states = undominated(after, beam)
	}
	if len(states) == 0 {
		return nil, 0
	}
	chosen = make([]int, len(g.body))
	s := states[0]
	for i, stmt := range slices.Backward(g.body) {
		if !g.foreign[stmt] {
			chosen[i], s = s.chosen, s.before
		}
	}
	return chosen, states[0].us
}

// begin numbers the placements and returns the state before the first statement. No family is live in it: an input becomes live when
// a statement first reads it, so that states of deep programs do not list the weights of all layers.
func (g *graph) begin() *state {
	if g.forms == nil {
		g.number()
	}
	return &state{}
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
	for n := 0; n < len(s.pages) && us <= other.settled.us; n++ {
		if s.pages[n] == other.pages[n] {
			continue
		}
		for k, h := range s.pages[n].list {
			if o := other.pages[n].list[k]; h.reading != o.reading {
				us += h.join(h.reading, o.reading)
			}
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
	next := &state{price: s.add(price{us: c.us}), settled: s.settled.add(price{us: c.us}), live: s.clone(), chosen: n, before: s}
	for k, t := range g.uses[i] {
		if !g.read(next, i, node{g.forms[t], c.reads[k]}) {
			return nil
		}
	}
	for k, t := range g.defs[i] {
		f := g.forms[t]
		next.set(f.family, reading{have: with("", node{f, c.makes[k]})})
		next.bytes, next.settled.bytes = next.bytes+f.bytes[c.makes[k]], next.settled.bytes+f.bytes[c.makes[k]]
	}
	for _, t := range slices.Concat(g.uses[i], g.defs[i]) {
		f := g.forms[t].family
		if r, held := next.of(f); held && g.last[f.members[0].tensor] <= i { // nothing reads the family later
			g.settle(next, f, r, i)
			next.drop(f)
		}
	}
	return next
}

// settle makes the nodes of a family's tree. It returns those that statements after number i may read.
func (g *graph) settle(s *state, f *family, r reading, i int) (kept reading) {
	t := f.tree(r)
	s.settled, s.trees = s.settled.add(t.price), append(s.trees, t)
	list := f.nodes(r.have)
	for _, e := range t.edges {
		list = append(list, e.to)
	}
	for _, n := range list {
		if g.last[n.of.tensor] > i {
			kept.have = with(kept.have, n)
		}
	}
	return kept
}

// read adds a node that statement i reads, and returns false if it cannot be made. The family of an input becomes live. If the family's
// tree reaches mostNeeded nodes, read settles it first.
func (g *graph) read(s *state, i int, n node) (possible bool) {
	f := n.of.family
	r, held := s.of(f)
	if !held {
		r = reading{have: with("", node{f.members[0], 0})}
		s.set(f, r)
	}
	if with(r.have, n) == r.have || with(r.need, n) == r.need {
		return true
	}
	if len(r.need) == mostNeeded*nodeSize {
		r = g.settle(s, f, r, i-1)
		s.set(f, r)
		if with(r.have, n) == r.have {
			return true
		}
	}
	before := f.tree(r)
	r.need = with(r.need, n)
	after := f.tree(r)
	s.set(f, r)
	s.us, s.bytes = s.us-before.us+after.us, s.bytes-before.bytes+after.bytes
	return after.possible()
}
