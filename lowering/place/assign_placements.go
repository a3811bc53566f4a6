package place

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// The search of a mesh keeps inAll states in total, divided evenly among the statements of the mesh, but at least few and at most many
// after each statement. See beamOf.
const (
	inAll = 4096
	few   = 32
	many  = 2048
)

// beamOf returns how many states the search of a graph keeps after each statement.
func beamOf(g *graph) int { return min(max(inAll/max(len(g.body)-len(g.foreign), 1), few), many) }

// AssignPlacements chooses the placements of all tensors that the spec leaves open, one mesh after the other. It chooses the placements
// for which the search finds the least estimated time of work and communication. It writes each step of a change as one communication or
// local copy. Other statements are then local to a rank, apart from those of several meshes, which stay. It returns false, and changes
// nothing, if the pass may not choose the placements or finds no possible assignment.
func AssignPlacements(p *hostir.Program, prices Prices) bool {
	if !Handles(p) {
		return false
	}
	_, assigned := assign(p, prices, nil)
	return assigned
}

// assign rewrites a program with the cheapest assignment that the search finds for each mesh. It returns the time of all in microseconds,
// and whether it found any. With a function not, it takes no step for which that returns true, and finds an assignment for all or none.
func assign(p *hostir.Program, prices Prices, not func(t *hostir.Tensor, mesh *domain.Mesh, s step) bool) (us float64, assigned bool) {
	for i, mesh := range p.Meshes {
		if mesh.Size() == 1 || slices.ContainsFunc(p.Meshes[:i], mesh.Same) {
			continue
		}
		part, exists := partOf(p, mesh)
		if !exists {
			continue
		}
		of := &pricing{Prices: prices, part: part}
		if not != nil {
			of.not = func(t *hostir.Tensor, s step) bool { return not(t, mesh, s) }
		}
		g, chosen, took, added := best(p, of)
		if chosen == nil && not != nil {
			return 0, false
		}
		if chosen != nil {
			p.Tensors = slices.Concat(p.Tensors, added)
			g.rewrite(p, chosen)
			us, assigned = us+took, true
		}
	}
	return us, assigned
}

// best returns the graph and the cheapest assignment that the search finds, with its time in microseconds; chosen is nil if there is
// none. The first search takes every bias of one axis as a separate addition. The second search keeps the bias separate only for linears
// whose result is partial, so that the bias is not added once per rank. added lists the new tensors for the results of these linears
// before the bias is added.
func best(p *hostir.Program, pricing *pricing) (g *graph, chosen []int, us float64, added []*hostir.Tensor) {
	body, biases := apart(p, func(l *hostir.Linear) bool { return !pricing.foreign[l] })
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

// apart returns the body with some linears divided into a linear without bias and an addition. It maps each linear without bias to the
// original statement.
func apart(p *hostir.Program, some func(*hostir.Linear) bool) (body []hostir.Stmt, of map[hostir.Stmt]hostir.Stmt) {
	of = map[hostir.Stmt]hostir.Stmt{}
	names := hostir.NewNamer(p)
	for _, s := range p.Body {
		l, linear := s.(*hostir.Linear)
		if !linear || l.Bias == nil || len(l.Bias.Axes) > 1 || !some(l) { // a bias with batch axes does not align with the rows
			body = append(body, s)
			continue
		}
		sum := names.Like(l.Out, "_sum")
		sum.Inferred, sum.Layout = true, nil
		for i := range sum.Axes {
			sum.Axes[i] = domain.Axis{Extent: sum.Axes[i].Extent}
		}
		product := &hostir.Linear{Info: hostir.InfoFrom(l, "each rank's part of the sum"), Out: sum, X: l.X, W: l.W}
		body = append(body, product, &hostir.Binary{Info: hostir.InfoFrom(l, "the bias, once"), Fn: "add", Out: l.Out, A: sum, B: l.Bias})
		of[product] = l
	}
	return body, of
}

// Handles reports whether the pass may choose placements. The program must have a mesh of several ranks, and no allocated memory, Stream
// axis or reduced axis. The schedule must not have preset: reference. The user must not have set reshard, or a field of a
// single communication.
func Handles(p *hostir.Program) bool {
	if hostir.Allocates(p) || len(p.Meshes) == 0 || p.Meshes[0].Size() == 1 || p.Choices.Get(schedule.Preset) == schedule.Reference ||
		slices.ContainsFunc(p.Choices.Stated(), func(c schedule.Choice) bool {
			return p.Given(c) && (c.Field == schedule.Reshard || c.Of != "" && c.Of != schedule.All)
		}) {
		return false
	}
	return !slices.ContainsFunc(p.Tensors, func(t *hostir.Tensor) bool {
		return slices.ContainsFunc(t.Axes, func(a domain.Axis) bool { return a.Kind == domain.Stream || a.Kind == domain.Reduction })
	})
}
