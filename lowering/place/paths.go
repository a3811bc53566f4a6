package place

import (
	"math"
	"slices"
)

// node is a placement of a tensor or of a view.
type node struct {
	of *forms
	at byte // the number of the placement
}

// price is the time of changes in microseconds, and the bytes of their results on a rank.
type price struct {
	us    float64
	bytes int64
}

func (p price) add(o price) price { return price{p.us + o.us, p.bytes + o.bytes} }
func (p price) less(o price) bool { return p.us < o.us || p.us == o.us && p.bytes < o.bytes }
func (p price) possible() bool    { return !math.IsInf(p.us, 1) }

// impossible is the price of a node that cannot be reached.
var impossible = price{us: math.Inf(1)}

// change returns the price of a change of placement.
func (n node) change(to byte) price {
	switch us := n.of.us[n.at][to]; {
	case us < 0:
		return impossible
	case us == 0:
		return price{}
	default:
		return price{us, n.of.bytes[to]}
	}
}

// path is the cheapest series of changes and views from one node to another, and the first node that it makes.
type path struct {
	price
	first node
}

// path returns the path from n to another node. From a view no path leads to its operand.
func (n node) path(to node) path {
	from := int(n.at)
	for of := to.of; of != n.of; of = of.of {
		if from += len(of.list); of.of == nil {
			return path{price: impossible}
		}
	}
	to.of.findPaths()
	return to.of.paths[from][to.at]
}

// findPaths fills paths. Between the placements of a tensor, it uses the algorithm of Floyd and Warshall. If the tensor
// is a view, paths from the nodes of its operand lead through each statement that makes the view.
func (f *forms) findPaths() {
	if f.paths != nil {
		return
	}
	for from := range f.list {
		row := make([]path, len(f.list))
		for to := range row {
			row[to] = path{node{f, byte(from)}.change(byte(to)), node{f, byte(to)}}
		}
		f.paths = append(f.paths, row)
	}
	for via := range f.list {
		for from, row := range f.paths {
			for to := range row {
				if sum := row[via].add(f.paths[via][to].price); sum.less(row[to].price) {
					f.paths[from][to] = path{sum, row[via].first}
				}
			}
		}
	}
	if f.of == nil {
		return
	}
	f.of.findPaths()
	for from, row := range f.of.paths {
		to := slices.Repeat([]path{{price: impossible}}, len(f.list))
		for _, w := range f.ways {
			begin := row[w.reads[0]]
			if !begin.possible() {
				continue
			}
			if from == int(w.reads[0]) {
				begin.first = node{f, w.makes[0]}
			}
			for at, end := range f.paths[w.makes[0]] {
				if sum := begin.add(price{us: w.us}).add(end.price); sum.less(to[at].price) {
					to[at] = path{sum, begin.first}
				}
			}
		}
		f.paths = append(f.paths, to)
	}
}
