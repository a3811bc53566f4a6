package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// slicer rewrites the statements of one pipeline to one iteration's slices. A
// tensor is sliced once an iteration, before its first use.
type slicer struct {
	lowering *streamLowering
	group    *group
	ring     *ring          // of a pipeline that passes slices from rank to rank
	parts    *hostir.Tensor // where it collects the parts of a sum
	after    []hostir.Stmt  // what follows the loop
	slices   map[sliceKey]*hostir.Tensor
	body     []hostir.Stmt
}

// index is the slice of this iteration: the s-th, or, from rank to rank, that of the rank s
// places further on.
func (c *slicer) index() expr.Expr {
	if c.ring != nil {
		return c.ring.after(expr.Var(c.lowering.loop))
	}
	return expr.Var(c.lowering.loop)
}

type sliceKey struct {
	tensor *hostir.Tensor
	axis   int
}

// step appends what an iteration does for one step.
func (c *slicer) step(st step) {
	switch st.kind {
	case broadcastFromRank:
		c.broadcast(st)
	case fromRankAtDistance:
		c.passFromRank(st)
	case toRankAtDistance:
		c.passToRank(st)
	case reduceToRank:
		c.reduce(st)
	default:
		c.statement(st)
	}
}

// statement appends s on slices. The axis that the slices lack is taken out of its
// attributes, too.
func (c *slicer) statement(st step) {
	s, rows := st.stmt, hostir.AxisMap(st.stmt)
	next, inAxis := 0, -1
	live := hostir.Live(hostir.Uses(s)[0])
	hostir.SubstituteUses(s, func(t *hostir.Tensor) *hostir.Tensor {
		axis := slices.Index(rows[next], st.loop)
		if next == 0 {
			inAxis = axis
		}
		next++
		if axis < 0 {
			return t
		}
		return c.slice(s, t, axis)
	})
	hostir.SubstituteDefs(s, func(t *hostir.Tensor) *hostir.Tensor {
		if t.Role == hostir.View {
			return c.view(t, st.loop) // the statement makes it
		}
		return c.slice(s, t, st.loop)
	})
	dropAxis(s, st.loop, inAxis, slices.Index(live, inAxis))
	c.body = append(c.body, s)
}

// dropAxis renumbers a statement's attributes for operands without axis in, which
// was number live without reduced axes, and results without axis out.
func dropAxis(s hostir.Stmt, out, in, live int) {
	switch s := s.(type) {
	case *hostir.Reduce:
		if in >= 0 && in < s.Axis {
			s.Axis--
		}
	case *hostir.Broadcast:
		if out < s.Axis {
			s.Axis--
		}
	case *hostir.Permute:
		s.Perm = dropFrom(s.Perm, live)
	}
}

// slice gives the slice of t at this iteration's index of axis; where the axis is split
// over ranks, the one slice that a rank has.
func (c *slicer) slice(s hostir.Stmt, t *hostir.Tensor, axis int) *hostir.Tensor {
	if view := c.slices[sliceKey{t, axis}]; view != nil {
		return view
	}
	index := c.index()
	if t.Axes[axis].LocalSize() == 1 {
		index = expr.Int(0)
	}
	if inner := outside(t, axis); inner >= 0 && needsWholeSlices(s) {
		c.complain(s, t, axis, inner)
	}
	view := c.view(t, axis)
	c.body = append(c.body, &hostir.Select{Info: info(s, ""), Out: view, In: t, Axis: axis, Index: index})
	return view
}

// view declares the slice of t without axis.
func (c *slicer) view(t *hostir.Tensor, axis int) *hostir.Tensor {
	l := c.lowering
	view := &hostir.Tensor{
		Name: l.names.fresh(t.Name + "_" + l.loop), DType: t.DType, Mesh: t.Mesh, Role: hostir.View,
		Axes: slices.Delete(slices.Clone(t.Axes), axis, axis+1), Pos: t.Pos,
	}
	if t.Layout != nil {
		view.Layout = dropFrom(t.Layout, axis)
	}
	c.slices[sliceKey{t, axis}] = view
	l.program.Tensors = append(l.program.Tensors, view)
	return view
}

// outside is an axis of more than one local element that lies outside of axis in
// t's buffer, or -1: a slice along axis would then be in pieces.
func outside(t *hostir.Tensor, axis int) int {
	if t.Axes[axis].LocalSize() == 1 {
		return -1
	}
	for _, a := range layout(t) {
		if a == axis {
			break
		}
		if t.Axes[a].LocalSize() > 1 {
			return a
		}
	}
	return -1
}

func (c *slicer) complain(s hostir.Stmt, t *hostir.Tensor, axis, outer int) {
	c.lowering.errors.Add(s.Meta().Pos, diag.NotContiguous,
		"a slice of %s along axis %d (%s) is not contiguous: axis %d (%s) lies outside of it",
		t.Name, axis, t.Axes[axis], outer, t.Axes[outer]).
		AddNote(t.Pos, "%s %s is declared here", t.Name, domain.FormatAxes(t.Axes)).
		WithHint("make the Stream axis the first axis of the tensor")
}

// dropFrom takes an axis out of a permutation and renumbers the others.
func dropFrom(order []int, axis int) []int {
	out := make([]int, 0, len(order))
	for _, a := range order {
		switch {
		case a < axis || axis < 0:
			out = append(out, a)
		case a > axis:
			out = append(out, a-1)
		}
	}
	return out
}
