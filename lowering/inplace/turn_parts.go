package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/ranks"
	"github.com/hirgen/hirgen/model/domain"
)

// TurnParts removes gathers that turn an axis (hostir.Gather.Turn), if ranks send or receive the slices along the axis one by one. The
// statements then read the slice of the operand, or write the slice of the result, that the gather would copy. It also removes the
// tables that only such gathers read.
//
// Requires: views are made, and communications are point-to-point transfers.
// Establishes: a gather with Turn has a reader of its whole result, and another reader or a partial writer of its operand.
//
//	before: V = Gather(X, i, axis 1, batches 1, turn 3); V_s = Select(V, axis 1, index (4 + rank - s) % 4); (send V_s).
//	after:  V_s = Select(X, axis 1, index (4 - s) % 4); (send V_s).
func TurnParts(p *hostir.Program) error {
	if len(p.Meshes[0].Axes) != 1 {
		return nil
	}
	t := &turner{program: p, team: ranks.Along(p.Meshes[0], p.Meshes[0].Axes[0].Name)}
	removed := false
	for _, s := range slices.Clone(p.Body) {
		g, gathers := s.(*hostir.Gather)
		if gathers && g.Turn != 0 && g.Table.Axes[g.Axis].Size == t.team.Size && g.Out.Mesh.Same(p.Meshes[0]) {
			removed = t.reads(g) || t.writes(g) || removed
		}
	}
	if removed {
		dropUnread(p)
	}
	return nil
}

type turner struct {
	program *hostir.Program
	team    *ranks.Axis
}

// selects returns the views of t that select an index along an axis, if only such views and the statements in but use t; else nil.
func (t *turner) selects(of *hostir.Tensor, axis int, but ...hostir.Stmt) (list []*hostir.Select) {
	seen, other := map[*hostir.Tensor]bool{}, false
	for s := range hostir.All(t.program.Body) {
		if _, allocates := s.(*hostir.Allocate); allocates || slices.Contains(but, s) {
			continue
		}
		other = other || slices.Contains(hostir.Mentions(s), of)
		hostir.Views(s, func(view *hostir.Tensor) {
			if seen[view] || !slices.Contains(hostir.Uses(view.Of), of) {
				return
			}
			seen[view] = true
			pick, ok := view.Of.(*hostir.Select)
			if other = other || !ok || pick.Axis != axis || pick.Parts != 0; ok {
				list = append(list, pick)
			}
		})
	}
	if other {
		return nil
	}
	return list
}

// reads makes the readers of slices of the result of g read slices of its table. It reports success.
func (t *turner) reads(g *hostir.Gather) bool {
	list := t.selects(g.Out, g.Axis, g)
	if len(list) == 0 || g.Out.Role != hostir.Temp || !hostir.SameLayout(g.Out, g.Table) ||
		!slices.Equal(without(g.Out.Axes, g.Axis), without(g.Table.Axes, g.Axis)) {
		return false
	}
	for _, pick := range list {
		pick.In, pick.Index = g.Table, t.turned(pick.Index, g.Turn)
	}
	t.remove(g, g.Out)
	return true
}

// writes makes the writers of slices of the operand of g write slices of its result. It reports success.
func (t *turner) writes(g *hostir.Gather) bool {
	of, axis := g.Table, g.Axis
	if view, permutes := of.Of.(*hostir.Permute); permutes {
		of, axis = view.In, view.Perm[axis]
	}
	list := t.selects(of, axis, g)
	at := slices.IndexFunc(t.program.Body, func(s hostir.Stmt) bool { return allocates(s, of) })
	if len(list) == 0 || at < 0 || of.Role != hostir.Temp || hostir.Outside(g.Out, g.Axis) >= 0 || hostir.Outside(of, axis) >= 0 ||
		!slices.Equal(without(g.Out.Axes, g.Axis), without(of.Axes, axis)) ||
		!slices.Equal(hostir.DropAxis(hostir.Layout(of), axis), hostir.DropAxis(hostir.Layout(g.Out), g.Axis)) {
		return false
	}
	for _, pick := range list {
		pick.In, pick.Axis, pick.Index = g.Out, g.Axis, t.turned(pick.Index, t.team.Size-g.Turn)
	}
	early := &hostir.Allocate{Info: *t.program.Body[at].Meta(), Tensor: g.Out}
	t.program.Body = slices.DeleteFunc(slices.Insert(t.program.Body, at, hostir.Stmt(early)), func(s hostir.Stmt) bool {
		return allocates(s, g.Out) && s != hostir.Stmt(early)
	})
	t.remove(g, of)
	return true
}

// without returns axes without one of them.
func without(axes []domain.Axis, axis int) []domain.Axis {
	return slices.Delete(slices.Clone(axes), axis, axis+1)
}

func allocates(s hostir.Stmt, t *hostir.Tensor) bool {
	a, ok := s.(*hostir.Allocate)
	return ok && a.Tensor == t
}

// remove removes a gather and the allocation of a tensor.
func (t *turner) remove(g *hostir.Gather, unused *hostir.Tensor) {
	t.program.Body = slices.DeleteFunc(t.program.Body, func(s hostir.Stmt) bool { return s == hostir.Stmt(g) || allocates(s, unused) })
}

// turned returns an index whose values are (index + turn * rank) modulo the number of ranks, as simple as possible.
func (t *turner) turned(index expr.Expr, turn int64) expr.Expr {
	n, rank := t.team.Extent, t.team.Coordinate
	sum := expr.Op("%", expr.Op("+", index, expr.Op("*", expr.Int(turn), rank)), n)
	simple := []expr.Expr{expr.Int(0), rank}
	expr.Variables(index, func(name string) {
		s := expr.Var(name)
		simple = append(simple, s, expr.Op("%", expr.Op("-", n, s), n))
	})
	for _, e := range simple {
		if t.same(e, sum) {
			return e
		}
	}
	return sum
}

// same reports whether two indices are equal on all ranks, for all steps of a loop.
func (t *turner) same(a, b expr.Expr) bool {
	for rank := range t.team.Size {
		for step := range t.team.Size {
			env := func(name string) (int64, bool) {
				for _, param := range t.program.Params {
					if param.Name == name {
						return param.Value, true
					}
				}
				if name == "rank" {
					return rank, true
				}
				return step, true
			}
			x, err := expr.Eval(a, env)
			y, wrong := expr.Eval(b, env)
			if err != nil || wrong != nil || x != y {
				return false
			}
		}
	}
	return true
}

// computes reports whether a statement only computes elements, so that it can be removed.
func computes(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Positions, *hostir.Unary, *hostir.Binary, *hostir.Cast, *hostir.Gather, *hostir.Fused:
		return true
	}
	return false
}

// dropUnread removes statements that compute, and whose results are temporaries that no other statement uses.
func dropUnread(p *hostir.Program) {
	for {
		used, made := map[*hostir.Tensor]bool{}, map[*hostir.Tensor]bool{}
		for s := range hostir.All(p.Body) {
			for _, t := range hostir.Defs(s) {
				made[t] = true
			}
			for _, t := range hostir.Uses(s) {
				used[t] = true
			}
			hostir.Views(s, func(view *hostir.Tensor) {
				for _, t := range append(hostir.Uses(view.Of), view) {
					used[t] = true
				}
			})
		}
		unread := func(t *hostir.Tensor) bool { return t.Role == hostir.Temp && !used[t] }
		before := len(p.Body)
		p.Body = slices.DeleteFunc(p.Body, func(s hostir.Stmt) bool {
			if a, allocates := s.(*hostir.Allocate); allocates {
				return unread(a.Tensor) && !made[a.Tensor]
			}
			defs := hostir.Defs(s)
			return computes(s) && !slices.ContainsFunc(defs, func(t *hostir.Tensor) bool { return !unread(t) })
		})
		if len(p.Body) == before {
			return
		}
	}
}
