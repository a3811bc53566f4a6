package place

import (
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
	stmt  hostir.Stmt
	ways  []choice
	depth int // the number of views between the tensor and the result
}

// mostViews limits the depth of views, because each view has paths from all placements of all that it is a view of. The search chooses
// placements for deeper ones, as for other results.
const mostViews = 32

// newGraph lists the choices of each statement.
func newGraph(body []hostir.Stmt, p *pricing) *graph {
	g := &graph{
		pricing: p, body: body, last: map[*hostir.Tensor]int{}, fixed: map[*hostir.Tensor]Placements{}, views: map[*hostir.Tensor]view{},
	}
	p.fns, p.traffic = map[*hostir.Tensor]string{}, trafficOf(body)
	for i, s := range body {
		if p.foreign[s] {
			g.uses, g.defs, g.choices = append(g.uses, nil), append(g.defs, nil), append(g.choices, []choice{{}})
			continue
		}
		for _, t := range hostir.Mentions(s) {
			if !t.Inferred || p.boundary[t] || t.Role == hostir.Input || t.Role == hostir.Output {
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
		if _, fixed := g.fixed[defs[0]]; hostir.MakesView(s) && !fixed && g.views[uses[0]].depth < mostViews {
			g.views[defs[0]] = view{s, choices, g.views[uses[0]].depth + 1}
			uses, defs, choices = nil, nil, []choice{{}}
		}
		for _, t := range uses {
			g.last[t] = i
		}
		g.uses, g.defs, g.choices = append(g.uses, uses), append(g.defs, defs), append(g.choices, choices)
	}
	for _, s := range slices.Backward(body) { // a statement that reads a view also reads the operand of the view
		if v, isView := g.views[hostir.Result(s)]; isView {
			of := hostir.Uses(v.stmt)[0]
			g.last[of] = max(g.last[of], g.last[hostir.Result(s)])
		}
	}
	return g
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
