package place

import (
	"math/rand/v2"
	"testing"
)

// randomFamily returns a tensor of some placements with random changes. The tensor may have a view, and the
// view may have a view.
func randomFamily(random *rand.Rand) *family {
	var all *family
	for member := range 1 + random.IntN(3) {
		f := &forms{list: make([]Placements, 2+random.IntN(3))}
		for range f.list {
			row := make([]float64, len(f.list))
			for to := range row {
				row[to] = float64(random.IntN(9) - 1)
			}
			f.us, f.bytes = append(f.us, row), append(f.bytes, random.Int64N(4))
		}
		for at := range f.list {
			f.us[at][at] = 0
		}
		if member == 0 {
			all = &family{members: []*forms{f}, trees: map[reading]tree{}, joins: map[[2]reading]float64{}}
			f.family = all
			continue
		}
		of := all.members[member-1]
		f.view(of)
		for range 1 + random.IntN(3) {
			f.ways = append(f.ways, choice{reads: []byte{byte(random.IntN(len(of.list)))}, makes: []byte{byte(random.IntN(len(f.list)))}})
		}
	}
	return all
}

// least returns the least price of making the needed nodes, by a search over all sets of nodes that may exist.
func least(all []node, have, need int) price {
	best := map[int]price{have: {}}
	for set := have; set < 1<<len(all); set++ { // an edge only adds nodes, so all ways to a set come from smaller sets
		p, reached := best[set]
		if !reached {
			continue
		}
		for to, n := range all {
			if set>>to&1 != 0 {
				continue
			}
			step := impossible
			for from, m := range all {
				if set>>from&1 == 0 {
					continue
				}
				if m.of == n.of && m.change(n.at).less(step) {
					step = m.change(n.at)
				}
				for _, w := range n.of.ways {
					if m.of == n.of.of && w.reads[0] == m.at && w.makes[0] == n.at && (price{}).less(step) {
						step = price{}
					}
				}
			}
			if old, known := best[set|1<<to]; step.possible() && (!known || p.add(step).less(old)) {
				best[set|1<<to] = p.add(step)
			}
		}
	}
	found := impossible
	for set, p := range best {
		if set&need == need && p.less(found) {
			found = p
		}
	}
	return found
}

// check checks that the edges of a tree make the needed nodes in order, and cost what the tree says.
func (tree tree) check(t *testing.T, f *family, r reading) {
	t.Helper()
	sum, made := price{}, r.have
	for _, e := range tree.edges {
		if with(made, e.from) != made || with(made, e.to) == made {
			t.Fatalf("the edge to placement %d of member %d is out of order", e.to.at, e.to.of.member)
		}
		if made = with(made, e.to); e.from.of == e.to.of {
			sum = sum.add(e.from.change(e.to.at))
		}
	}
	for _, n := range f.nodes(r.need) {
		if with(made, n) != made {
			t.Fatalf("placement %d of member %d is not made", n.at, n.of.member)
		}
	}
	if sum != tree.price {
		t.Fatalf("the edges cost %v, and the tree %v", sum, tree.price)
	}
}

// TestTreesAreTheCheapest compares trees with the cheapest of all sets of nodes. The trees of method connect may cost more.
func TestTreesAreTheCheapest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	branched, more := 0, 0
	for range 400 {
		f := randomFamily(random)
		var all []node
		for _, m := range f.members {
			for at := range m.list {
				all = append(all, node{m, byte(at)})
			}
		}
		r, have, need := reading{have: with("", all[0])}, 1, 0
		for range 1 + random.IntN(4) {
			at := random.IntN(len(all))
			r.need, need = with(r.need, all[at]), need|1<<at
		}
		if random.IntN(3) == 0 {
			at := random.IntN(len(all))
			r.have, have = with(r.have, all[at]), have|1<<at
		}
		tree, want := f.tree(r), least(all, have, need)
		if tree.price != want {
			t.Fatalf("%v, and the least is %v", tree.price, want)
		}
		if !want.possible() {
			continue
		}
		tree.check(t, f, r)
		if len(tree.edges) > len(r.need)/nodeSize {
			branched++
		}
		s := &steiner{ends: f.nodes(r.need), made: map[node]bool{}}
		for _, n := range f.nodes(r.have) {
			s.made[n] = true
		}
		s.connect(f.nodes(r.have))
		if s.tree.check(t, f, r); want.less(s.tree.price) {
			more++
		}
	}
	if branched < 40 || more < 4 {
		t.Errorf("only %d trees make nodes that nothing reads, and %d cost less than one path after the other", branched, more)
	}
}
