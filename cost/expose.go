package cost

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
)

// An Exposure is how long a communication takes, and how much of that is hidden, because the rank computes at
// the same time. All runs of its statement in a call count together, on the rank where they are exposed
// longest.
type Exposure struct {
	Name    string   `json:"name"` // as in the emitted program
	Pos     diag.Pos `json:"-"`
	Where   string   `json:"at"`    // the position, as "spec.yaml:12:5"
	Times   int      `json:"times"` // runs in a call
	Total   float64  `json:"us"`    // of all runs, in microseconds: Hidden and Exposed
	Hidden  float64  `json:"hidden_us"`
	Exposed float64  `json:"exposed_us"`
	Behind  []Share  `json:"behind"` // the computations at the same time, the longest first
}

// A Share is the part of a time that calls of one name take.
type Share struct {
	Name string  `json:"name"`
	Time float64 `json:"us"`
}

// expose finds the computations that hide each communication, rank by rank.
func (p *Prediction) expose() {
	byRank := map[int][]int{}
	var ranks []int
	for i, c := range p.Calls {
		if byRank[c.Rank] == nil {
			ranks = append(ranks, c.Rank)
		}
		byRank[c.Rank] = append(byRank[c.Rank], i)
	}
	found := map[calls.Stmt]*Exposure{}
	var order []calls.Stmt
	for _, rank := range ranks {
		own, exposed := p.exposeRank(byRank[rank])
		p.Exposed = max(p.Exposed, exposed)
		for _, i := range byRank[rank] {
			s := p.Calls[i].Stmt
			e := own[s]
			if e == nil {
				continue
			}
			if found[s] == nil {
				order = append(order, s)
			}
			if found[s] == nil || e.Exposed > found[s].Exposed {
				found[s] = e
			}
		}
	}
	for _, s := range order {
		p.Communications = append(p.Communications, *found[s])
	}
}

// exposeRank returns the exposure of each communication of one rank, and the time in which the rank
// communicates and does not compute. list has the indices of the rank's calls. exposeRank visits
// communications and computations in the order in which they begin, and keeps the computations that may still
// be running.
func (p *Prediction) exposeRank(list []int) (found map[calls.Stmt]*Exposure, exposed float64) {
	var moves, computes []*Call
	for _, i := range list {
		switch c := &p.Calls[i]; {
		case c.End <= c.Begin:
		case c.Kind.Moves():
			moves = append(moves, c)
		case c.Kind.Computes():
			computes = append(computes, c)
		}
	}
	byBegin := func(a, b *Call) int { return cmp.Compare(a.Begin, b.Begin) }
	slices.SortStableFunc(moves, byBegin)
	slices.SortStableFunc(computes, byBegin)
	found = map[calls.Stmt]*Exposure{}
	covers := map[calls.Stmt]map[string]float64{}
	var running []*Call
	seen := 0.0 // the time up to which exposed communication has been counted
	for _, c := range moves {
		e := found[c.Stmt]
		if e == nil {
			e = &Exposure{Name: c.Name, Pos: c.Pos, Where: c.Pos.String()}
			found[c.Stmt], covers[c.Stmt] = e, map[string]float64{}
		}
		for len(computes) > 0 && computes[0].Begin < c.End {
			running, computes = append(running, computes[0]), computes[1:]
		}
		running = slices.DeleteFunc(running, func(other *Call) bool { return other.End <= c.Begin })
		e.Times++
		e.Total += c.End - c.Begin
		e.Exposed += uncovered(c.Begin, c.End, running)
		exposed += uncovered(max(c.Begin, seen), c.End, running)
		seen = max(seen, c.End)
		for name, list := range byName(running) {
			covers[c.Stmt][name] += c.End - c.Begin - uncovered(c.Begin, c.End, list)
		}
	}
	for s, e := range found {
		e.Hidden = e.Total - e.Exposed
		e.Behind = longestFirst(covers[s])
	}
	return found, exposed
}

// Computes returns the time in which a rank computes, in microseconds, on the rank where it is longest.
func (p *Prediction) Computes() float64 {
	byRank := map[int][]*Call{}
	for i := range p.Calls {
		if c := &p.Calls[i]; c.Kind.Computes() && c.End > c.Begin {
			byRank[c.Rank] = append(byRank[c.Rank], c)
		}
	}
	longest := 0.0
	for _, list := range byRank {
		slices.SortStableFunc(list, func(a, b *Call) int { return cmp.Compare(a.Begin, b.Begin) })
		longest = max(longest, p.Total-uncovered(0, p.Total, list))
	}
	return longest
}

// byName groups calls by their names, each group in order.
func byName(list []*Call) map[string][]*Call {
	parts := map[string][]*Call{}
	for _, c := range list {
		parts[c.Name] = append(parts[c.Name], c)
	}
	return parts
}

// uncovered returns how much of a time interval no call of a list covers. The list is in the order in which
// calls begin.
func uncovered(from, to float64, list []*Call) float64 {
	left := 0.0
	for _, c := range list {
		if from >= to {
			return left
		}
		left += max(0, min(c.Begin, to)-from)
		from = max(from, c.End)
	}
	return left + max(0, to-from)
}

// longestFirst lists the times above 0, the longest first.
func longestFirst(times map[string]float64) []Share {
	list := []Share{}
	for name, time := range times {
		if time > 0 {
			list = append(list, Share{name, time})
		}
	}
	slices.SortFunc(list, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name))
	})
	return list
}
