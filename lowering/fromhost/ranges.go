package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// concat copies operands one after the other into the result.
func (b *builder) concat(s *hostir.Concat) []calls.Stmt {
	out := b.operandBuffer(s, s.Out)
	var list []calls.Stmt
	start := extents.Number(0)
	for i, r := range hostir.Ranges(s) {
		in := b.operandBuffer(s, s.In[i])
		size := b.scope.Local(s.In[i].Axes[r.InAxis])
		part := out.part(r.OutAxis, start, size)
		copied := b.copy(s, part, in.as(s.Out, in.dims))
		list = append(list, copied...)
		start = extents.Plus(start, size)
	}
	return list
}

// part returns a view of the size elements of an axis that begin at start.
func (u *buffer) part(axis int, start, size extents.Quantity) *buffer {
	part := *u
	part.dims = slices.Clone(u.dims)
	at := slices.IndexFunc(part.dims, func(d dim) bool { return d.axis == axis })
	part.dims[at].extent = size
	if start.Size == 0 {
		return &part
	}
	part.name, part.at = "", expr.Sum(u.at, step(start.Expr, part.dims[at].stride))
	return &part
}

// positions launches a kernel that stores the positions of elements along an axis. If the axis is split, the first
// position on a rank is the rank's coordinate, times the step if there is one.
func (b *builder) positions(s *hostir.Positions) []calls.Stmt {
	out := b.operandBuffer(s, s.Out)
	first := expr.Expr(expr.Int(0))
	for _, a := range s.Out.Axes {
		if over := hostir.SplitOver(a); over != "" {
			first = b.here(b.meshOf(s.Out), over)
		}
	}
	if s.Step.Size > 0 {
		first = expr.Op("*", first, b.scope.Extent(s.Step).Expr)
	}
	return []calls.Stmt{&calls.Launch{
		Info: b.computed(s, ""), Kernel: "positions", Out: calls.Operand{At: b.pointer(out)}, OutType: out.typ, InType: out.typ,
		Elements: out.elements().Expr, First: first, On: b.current,
	}}
}

// here returns this rank's coordinate along an axis of a mesh.
func (b *builder) here(m *domain.Mesh, axis string) expr.Expr {
	if inOrder(m) {
		return expr.Var("rank")
	}
	p := b.coordinateAlong(m, axisIndex(m, axis))
	p.used = true
	return expr.Var(p.name)
}
