package place

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// forms numbers the placements of a tensor that the search may choose. A stated placement has number 0.
type forms struct {
	tensor *hostir.Tensor
	family *family
	member int      // the index in the family
	of     *forms   // of the operand, if the tensor is a view
	ways   []choice // of the statement that makes the view
	list   []Placements
	bytes  []int64     // of a rank's part, by number
	us     [][]float64 // the time of a change in microseconds, by the numbers before and after it; negative if it is impossible
	// paths has the cheapest path from each placement in a list to each placement of the tensor. The list begins with
	// the placements of the tensor. The placements of its operand follow, then of that operand's operand, and so on:
	// see findPaths.
	paths [][]path
}

// mostForms limits the placements of one tensor, because a number is one byte. The search drops choices that need more.
// That can happen for tensors of six or more axes on a mesh of three axes.
const mostForms = 256

// number numbers the placements of all choices. It drops choices with a result that cannot be changed to its stated
// placement, and choices that need more than mostForms placements of a tensor.
func (g *graph) number() {
	g.forms = map[*hostir.Tensor]*forms{}
	for i := range g.choices {
		if v, isView := g.views[hostir.Result(g.body[i])]; isView {
			f := g.formsOf(hostir.Result(v.stmt))
			f.view(g.formsOf(hostir.Uses(v.stmt)[0]))
			f.ways = g.possible(v.stmt, hostir.Uses(v.stmt), hostir.Defs(v.stmt), v.ways)
		} else if !g.foreign[g.body[i]] {
			g.choices[i] = g.possible(g.body[i], g.uses[i], g.defs[i], g.choices[i])
		}
	}
}

// possible returns the choices of a statement that numbered accepts, with their times and numbers.
func (g *graph) possible(s hostir.Stmt, uses, defs []*hostir.Tensor, choices []choice) (list []choice) {
	for _, c := range choices {
		c.us = exact(g.local(s, c.in, c.out))
		if g.numbered(uses, defs, &c) {
			list = append(list, c)
		}
	}
	return list
}

// numbered sets the numbers of a choice, and adds the time of changes to stated placements. It returns false if such a change is
// impossible, or a tensor has too many placements.
func (g *graph) numbered(uses, defs []*hostir.Tensor, c *choice) (possible bool) {
	c.reads, c.makes = nil, nil
	for k, t := range uses {
		n, numbered := g.formsOf(t).number(g.pricing, c.in[k])
		if !numbered {
			return false
		}
		c.reads = append(c.reads, n)
	}
	for k, t := range defs {
		at := c.out[k]
		if want, fixed := g.fixed[t]; fixed {
			us := g.change(t, at, want)
			if us < 0 {
				return false
			}
			c.us, at = c.us+us, want
		}
		n, numbered := g.formsOf(t).number(g.pricing, at)
		if !numbered {
			return false
		}
		c.makes = append(c.makes, n)
	}
	return true
}

// formsOf returns the numbered placements of a tensor, and creates them on first use.
func (g *graph) formsOf(t *hostir.Tensor) *forms {
	f := g.forms[t]
	if f == nil {
		f = &forms{tensor: t, family: &family{id: len(g.forms), trees: map[reading]tree{}, joins: map[[2]reading]float64{}}}
		f.family.members = []*forms{f}
		if at, fixed := g.fixed[t]; fixed {
			f.number(g.pricing, at)
		}
		g.forms[t] = f
	}
	return f
}

// view makes f the forms of a view, in the family of the operand.
func (f *forms) view(of *forms) {
	f.of, f.family, f.member = of, of.family, len(of.family.members)
	f.family.members = append(f.family.members, f)
}

// exact rounds a time to a multiple of 2^-20 us. Sums of such times are exact, so that equal times compare as equal.
func exact(us float64) float64 { return math.Round(us*(1<<20)) / (1 << 20) }

// number returns the number of a placement, and prices the changes from and to a new one. It returns false for a new placement if the
// tensor already has mostForms.
func (f *forms) number(p *pricing, at Placements) (n byte, numbered bool) {
	if i := slices.Index(f.list, at); i >= 0 {
		return byte(i), true
	}
	if len(f.list) == mostForms {
		return 0, false
	}
	f.list, f.bytes = append(f.list, at), append(f.bytes, p.bytes(f.tensor, at))
	last := make([]float64, len(f.list))
	for i, other := range f.list {
		last[i] = p.change(f.tensor, at, other)
		if other != at {
			f.us[i] = append(f.us[i], p.change(f.tensor, other, at))
		}
	}
	f.us = append(f.us, last)
	return byte(len(f.list) - 1), true
}
