package place

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// The search keeps inAll states for the whole program, and between few and many after each statement.
const (
	inAll = 4096
	few   = 32
	many  = 2048
)

// beamOf is the number of states that the search of a graph keeps.
func beamOf(g *graph) int { return min(max(inAll/max(len(g.body), 1), few), many) }

// AssignPlacements chooses the placements of all tensors that the spec leaves open, so that the time of work and communication is
// least, and writes each change of a placement as one communication. Each other statement is then local to a rank. It reports whether
// the placements are the pass's to choose.
func AssignPlacements(p *hostir.Program, prices Prices) bool {
	if !handles(p) {
		return false
	}
	g, chosen, _, added := best(p, &pricing{Prices: prices, mesh: p.Meshes[0]})
	if chosen == nil {
		return false
	}
	p.Tensors = append(p.Tensors, added...)
	g.rewrite(p, chosen)
	return true
}

// best searches the assignment, and returns its time. Where ranks add parts of a product, a separate statement adds the bias.
func best(p *hostir.Program, pricing *pricing) (g *graph, chosen []int, us float64, added []*hostir.Tensor) {
	body, biases := apart(p, func(*hostir.Linear) bool { return true })
	g = newGraph(body, pricing)
	if chosen, us = g.search(beamOf(g)); chosen == nil || len(biases) == 0 {
		return g, chosen, us, nil
	}
	partial := map[hostir.Stmt]bool{}
	for i, s := range g.body {
		if of, has := biases[s]; has && g.choices[i][chosen[i]].out[0].partial() {
			partial[of] = true
		}
	}
	body, biases = apart(p, func(l *hostir.Linear) bool { return partial[l] })
	for s := range biases {
		added = append(added, hostir.Result(s))
	}
	g = newGraph(body, pricing)
	chosen, us = g.search(beamOf(g))
	return g, chosen, us, added
}

// apart returns the body with some products and the additions of their biases apart, and the original of each such product.
func apart(p *hostir.Program, some func(*hostir.Linear) bool) (body []hostir.Stmt, of map[hostir.Stmt]hostir.Stmt) {
	of = map[hostir.Stmt]hostir.Stmt{}
	for _, s := range p.Body {
		l, linear := s.(*hostir.Linear)
		if !linear || l.Bias == nil || len(l.Bias.Axes) > 1 || !some(l) { // one of batches is not aligned with rows
			body = append(body, s)
			continue
		}
		sum := &hostir.Tensor{
			Name: l.Out.Name + "_sum", DType: l.Out.DType, Axes: slices.Clone(l.Out.Axes), Mesh: l.Out.Mesh, Inferred: true, Pos: l.Out.Pos,
		}
		for i := range sum.Axes {
			sum.Axes[i] = domain.Axis{Extent: sum.Axes[i].Extent}
		}
		product := &hostir.Linear{Info: hostir.InfoFrom(l, "each rank's part of the sum"), Out: sum, X: l.X, W: l.W}
		body = append(body, product, &hostir.Binary{Info: hostir.InfoFrom(l, "the bias, once"), Fn: "add", Out: l.Out, A: sum, B: l.Bias})
		of[product] = l
	}
	return body, of
}

// handles reports whether placements are the pass's to choose: one mesh with several ranks, no pipeline that the spec states, and
// no communication that the schedule names.
func handles(p *hostir.Program) bool {
	if hostir.Allocates(p) || len(p.Meshes) != 1 || p.Meshes[0].Size() == 1 || p.Choices.Get(schedule.Preset) == schedule.Reference ||
		slices.ContainsFunc(p.Choices.Stated(), func(c schedule.Choice) bool {
			return p.Given(c) && (c.Field == schedule.Reshard || c.Of != "" && c.Of != schedule.All)
		}) {
		return false
	}
	return !slices.ContainsFunc(p.Tensors, func(t *hostir.Tensor) bool {
		return slices.ContainsFunc(t.Axes, func(a domain.Axis) bool { return a.Kind == domain.Stream || a.Kind == domain.Reduction })
	})
}
