package place

import (
	"math/bits"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
)

// family is a tensor and its views. Its nodes are the vertices of a graph. An edge is a change of placement, or makes a view from its
// operand.
type family struct {
	id      int
	members []*forms // the tensor, and then its views, each after its operand
	trees   map[reading]tree
	joins   map[[2]reading]float64
}

// reading describes a family after some statements. Each list has nodeSize bytes for each node, and is
// sorted.
type reading struct {
	have string // the nodes that exist
	need string // the other nodes that statements have read since
}

// nodeSize is the number of bytes of a node in a list: two for the member and one for the placement.
const nodeSize = 3

// with adds a node to a list that may have it already.
func with(list string, n node) string {
	text := string([]byte{byte(n.of.member >> 8), byte(n.of.member), n.at})
	for i := 0; i < len(list); i += nodeSize {
		if old := list[i : i+nodeSize]; old == text {
			return list
		} else if old > text {
			return list[:i] + text + list[i:]
		}
	}
	return list + text
}

// nodes returns the nodes of a list.
func (f *family) nodes(list string) (nodes []node) {
	for i := 0; i < len(list); i += nodeSize {
		nodes = append(nodes, node{f.members[int(list[i])<<8|int(list[i+1])], list[i+2]})
	}
	return nodes
}

// edge makes one node of a family from another.
type edge struct{ from, to node }

// tree is a set of edges that makes all needed nodes, each edge after the edge that makes its start.
type tree struct {
	price
	edges []edge
}

// tree returns the tree of solve from nodes that exist to nodes that statements read. Its edges may make nodes from
// which others are cheaper. For example, if one statement reads the whole tensor, a gather may come first, and another
// statement then takes its part of the whole.
func (f *family) tree(r reading) tree {
	t, known := f.trees[r]
	if !known {
		t = f.solve(r)
		f.trees[r] = t
	}
	return t
}

// join returns the time that a family needs, after reading a, to have all that it has after reading b as well, and to make what
// a needs from there.
func (f *family) join(a, b reading) (us float64) {
	if us, known := f.joins[[2]reading{a, b}]; known {
		return us
	}
	have := a.have
	connect := func(list string) {
		for _, n := range f.nodes(list) {
			if more := with(have, n); more != have {
				us += f.tree(reading{have, with("", n)}).us
				have = more
			}
		}
	}
	connect(b.have)
	for _, n := range f.nodes(b.need) {
		have = with(have, n)
	}
	connect(a.need)
	f.joins[[2]reading{a, b}] = us
	return us
}

// steiner finds the cheapest tree by the algorithm of Dreyfus and Wagner (The Steiner problem in graphs, Networks 1, 1971), with
// directed edges. A tree to several ends is a path to a node and two trees from there. A set of ends is a number with a bit for each
// end.
type steiner struct {
	nodes []node // at which a tree may branch. The first stands for all nodes that exist
	start []path // from these to each node
	ends  []node
	best  [][]price // by set and index in nodes: the price of the cheapest tree from a node to these ends
	split [][]split // and its first branch, if there are several ends
	made  map[node]bool
	tree  tree
}

// split is the index of a node at which a tree branches, and the ends on one of the branches.
type split struct{ at, ends int }

// solve finds a tree: for one end the cheapest path, for several ends the cheapest tree. If the tree could branch at more than
// mostBranches nodes, solve makes a path to one end after the other instead.
func (f *family) solve(r reading) tree {
	s := &steiner{nodes: []node{{}}, start: []path{{}}, ends: f.nodes(r.need), made: map[node]bool{}}
	have := f.nodes(r.have)
	lists.Mark(s.made, have)
	var of []*forms
	count := 0
	for _, n := range s.ends {
		for m := n.of; m != nil && !slices.Contains(of, m); m = m.of {
			of, count = append(of, m), count+len(m.list)
		}
	}
	if len(s.ends) < 2 || count > mostBranches {
		s.connect(have)
		return s.tree
	}
	for _, m := range of {
		for at := range m.list {
			n := node{m, byte(at)}
			from, p := nearest(have, n)
			s.nodes, s.start = append(s.nodes, n), append(s.start, path{p.price, from})
		}
	}
	all := 1<<len(s.ends) - 1
	s.combine(all)
	if s.tree.price = s.best[all][0]; s.tree.possible() {
		s.walk(0, all)
	}
	return s.tree
}

// mostBranches limits the time to find a tree, which grows with the square of this number. Two mesh axes and a tensor of three
// axes have 22 placements; three mesh axes have far more.
const mostBranches = 64

// nearest returns the node of a list from which the path to n is cheapest, and this path.
func nearest(list []node, n node) (from node, least path) {
	least.price = impossible
	for _, m := range list {
		if p := m.path(n); p.less(least.price) {
			from, least = m, p
		}
	}
	return from, least
}

// connect makes a path to each end, in their order. The path begins at the node from which it is cheapest, among the nodes that
// exist and those that earlier paths make.
func (s *steiner) connect(have []node) {
	for _, end := range s.ends {
		from, p := nearest(have, end)
		if s.tree.price = s.tree.add(p.price); !p.possible() {
			return
		}
		for from != end {
			to := from.path(end).first
			if !s.made[to] {
				s.tree.edges, have = append(s.tree.edges, edge{from, to}), append(have, to)
			}
			s.made[to], from = true, to
		}
	}
}

// path returns the path between nodes with these indices.
func (s *steiner) path(from, to int) path {
	switch {
	case from == 0:
		return s.start[to]
	case to == 0:
		return path{price: impossible}
	default:
		return s.nodes[from].path(s.nodes[to])
	}
}

// combine fills best and split. It finds the tree to all ends from the first node only.
func (s *steiner) combine(all int) {
	s.best, s.split = [][]price{make([]price, len(s.nodes))}, make([][]split, all+1)
	for set := 1; set <= all; set++ {
		s.best, s.split[set] = append(s.best, slices.Repeat([]price{impossible}, len(s.nodes))), make([]split, len(s.nodes))
		from := len(s.nodes)
		if set == all {
			from = 1
		}
		if set&(set-1) == 0 {
			end := slices.Index(s.nodes, s.ends[bits.TrailingZeros(uint(set))])
			for v := range from {
				s.best[set][v], s.split[set][v] = s.path(v, end).price, split{at: end}
			}
			continue
		}
		for at := range s.nodes {
			branch, ends := impossible, 0
			for part := (set - 1) & set; part > 0; part = (part - 1) & set {
				if sum := s.best[part][at].add(s.best[set^part][at]); sum.less(branch) {
					branch, ends = sum, part
				}
			}
			for v := range from {
				if sum := s.path(v, at).add(branch); sum.less(s.best[set][v]) {
					s.best[set][v], s.split[set][v] = sum, split{at, ends}
				}
			}
		}
	}
}

// walk adds the edges of the tree from a node to a set of ends.
func (s *steiner) walk(from, set int) {
	at := s.split[set][from]
	for n := s.nodes[from]; n != s.nodes[at.at]; {
		to := s.start[at.at].first
		if n != s.nodes[0] {
			to = n.path(s.nodes[at.at]).first
		}
		if !s.made[to] {
			s.tree.edges = append(s.tree.edges, edge{n, to})
		}
		s.made[to], n = true, to
	}
	if at.ends != 0 {
		s.walk(at.at, at.ends)
		s.walk(at.at, set^at.ends)
	}
}
