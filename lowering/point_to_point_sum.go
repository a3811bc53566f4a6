package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// collectParts declares and allocates the buffer of a sum's parts, one for each rank of the
// ring, and, where the own slice is used in place, lets the pipeline make it there.
func (c *slicer) collectParts(st step) {
	r, l := st.stmt, c.lowering
	in, out := hostir.Uses(r)[0], hostir.Result(r)
	i := slices.Index(hostir.AxisMap(r)[0], st.loop)
	c.parts = &hostir.Tensor{
		Name: l.names.fresh(in.Name + "_parts"), DType: in.DType, Axes: slices.Clone(in.Axes), Mesh: out.Mesh,
		Role: hostir.Temp, Layout: slices.Clone(in.Layout), Pos: in.Pos,
	}
	part := c.partAxis(st)
	c.parts.Axes[part].Kind, c.parts.Axes[part].Mesh = domain.Serial, ""
	c.parts.Axes[i].Kind, c.parts.Axes[i].Mesh = domain.Device, in.Axes[part].Mesh
	l.program.Tensors = append(l.program.Tensors, c.parts)
	forks := len(l.body) - 1 // the loop that stays next to the work
	l.body = slices.Insert(l.body, forks, hostir.Stmt(&hostir.Allocate{Info: info(r, ""), Tensor: c.parts}))
	if l.program.Choices.Own == "copied" || in.Role != hostir.Temp {
		return
	}
	made := c.view(in, i)
	split := c.ownStep(r)
	split.Body = []hostir.Stmt{c.part(st, made, c.ring.place)}
	split.Else = []hostir.Stmt{&hostir.Select{Info: info(r, ""), Out: made, In: in, Axis: i, Index: c.index()}}
	c.body = append(c.body, split)
}

// not is the opposite of a comparison for equality.
func not(cond expr.Expr) expr.Expr {
	equal := cond.(*expr.Binary)
	return binary("!=", equal.X, equal.Y)
}

// partAxis is the axis along which the ranks have parts of the sum.
func (c *slicer) partAxis(st step) int {
	return slices.IndexFunc(hostir.Uses(st.stmt)[0].Axes, func(a domain.Axis) bool {
		return device(a) == describe(st.stmt).shifts[0].mesh
	})
}

// part makes a view the part that the rank at a place computed.
func (c *slicer) part(st step, view *hostir.Tensor, place expr.Expr) *hostir.Select {
	return &hostir.Select{Info: info(st.stmt, ""), Out: view, In: c.parts, Axis: c.partAxis(st), Index: place}
}

// passToRank appends one step of a reduce-scatter from rank to rank; the sum of all parts
// follows the loop.
//
//	before: C = Reduce(sum, P, axis 0)          P [DIDx(D), Stream(D), m, N], C [r(D), DIDx(D), m, N]
//	after:  P_s = Select(P, axis 1, index (rank + s) % D)
//	        If s == 0: (P_s is the part of this rank)
//	        Else: (send P_s to rank (rank + s) % D, receive a part from rank (D + rank - s) % D)
//	        and after the loop: C = Reduce(sum, P_parts, axis 0)
func (c *slicer) passToRank(st step) {
	if c.ring == nil {
		return // rotate said why
	}
	r := st.stmt
	in := hostir.Uses(r)[0]
	i := slices.Index(hostir.AxisMap(r)[0], st.loop)
	computed := c.slice(r, in, i)
	place := expr.Var(c.lowering.loop)
	into := c.view(c.parts, c.partAxis(st))
	from := c.ring.before(place)
	split := c.ownStep(r)
	if c.lowering.program.Choices.Own == "copied" || in.Role != hostir.Temp {
		split.Body = []hostir.Stmt{c.part(st, into, c.ring.place), &hostir.Set{Info: *r.Meta(), Out: into, In: computed}}
		split.Else = append([]hostir.Stmt{c.part(st, into, from)}, c.exchange(r, computed, into, c.ring.after(place), from)...)
	} else {
		sent := c.view(in, i)
		split.Cond = not(split.Cond) // the own step made it where it belongs
		split.Body = append([]hostir.Stmt{
			&hostir.Select{Info: info(r, ""), Out: sent, In: in, Axis: i, Index: c.index()}, c.part(st, into, from),
		}, c.exchange(r, sent, into, c.ring.after(place), from)...)
	}
	c.body = append(c.body, split)
	hostir.SubstituteUses(r, func(*hostir.Tensor) *hostir.Tensor { return c.parts })
	c.after = append(c.after, r)
}
