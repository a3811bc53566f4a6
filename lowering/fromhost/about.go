package fromhost

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// describe sets the fields of About that the translation of statements has not set. It runs after the passes on calls.
func (b *builder) describe() {
	p, about := b.program, &b.out.About
	about.World, about.Operations, about.Saved, about.HostIR = p.Meshes[0], p.Reference, p.Saved, text.Print(p)
	sums := terms(p)
	for i, t := range b.tensors {
		about.Tensors = append(about.Tensors, b.interfaceTensor(t, b.out.Arguments[i].Mesh, sums[t.Name]))
	}
	results := map[string]bool{}
	for _, op := range p.Reference {
		results[op.Out] = true
	}
	for _, t := range p.Tensors {
		if results[t.Name] && t.Role != hostir.Output && !t.Inferred {
			d := calls.Tensor{Name: t.Name, Type: t.DType, Axes: t.Axes, Mesh: t.Mesh}
			if t.Mesh != p.Meshes[0] {
				d.On = b.meshes[t.Mesh]
			}
			about.Declared = append(about.Declared, d)
		}
	}
	for _, d := range domain.AllDTypes {
		has := slices.ContainsFunc(p.Tensors, func(t *hostir.Tensor) bool { return t.DType == d })
		if !d.IsInteger() && (has || b.casts(d)) {
			about.Types = append(about.Types, d)
		}
	}
	about.Schedule, about.Transport = b.schedule(), transportOf(p)
	if p.Auto != nil {
		about.Auto, about.Given = p.Auto.Basis, p.Auto.Given
	}
	for _, m := range hostir.Movements(p) {
		about.Movements = append(about.Movements, m.Short(p.Meshes[0].Name))
	}
	ranks := extents.Number(1)
	for _, extent := range b.out.Meshes[0].Extents {
		ranks = extents.Times(ranks, extents.Quantity{Expr: extent, Size: 1})
	}
	about.Ranks = ranks.Expr
}

// casts reports whether a kernel rounds values to an element type.
func (b *builder) casts(t domain.DType) bool {
	return slices.ContainsFunc(b.out.Kernels, func(k *calls.Kernel) bool {
		return slices.ContainsFunc(k.Steps(), func(s domain.Step) bool { return s.Fn == domain.CastFn(t) })
	})
}

// interfaceTensor describes an input or output. on is the program's name of the mesh that holds it; empty: every rank
// has a part. sum has the factors that domain.Contractions finds for the tensor.
func (b *builder) interfaceTensor(t *hostir.Tensor, on string, sum domain.Terms) calls.Tensor {
	d := calls.Tensor{
		Name: t.Name, Type: t.DType, Axes: t.Axes, Mesh: t.Mesh, On: on, Pos: t.Pos, Deviation: t.Deviation, Rounded: t.Rounded, Fill: t.Fill,
		Terms: b.contraction(sum.Factors),
	}
	for _, i := range hostir.Live(t) {
		a := calls.LiveAxis{
			Axis: t.Axes[i], Whole: b.scope.Extent(t.Axes[i].Extent).Expr, Local: expr.Int(1), Absent: slices.Contains(t.Absent, i),
		}
		switch a.Kind {
		case domain.Device:
			m := b.meshOf(t)
			a.Of, a.Number = b.meshes[m], axisIndex(m, a.Mesh)
			a.Coordinate = b.coordinateName(m, a.Number)
		case domain.Broadcast:
		default:
			a.Local = b.scope.Raw(a.Extent).Expr
		}
		d.Live = append(d.Live, a)
	}
	return d
}

// contraction returns the product of the factors that domain.Contractions finds for a tensor, or 1 if there are none.
// For an input, the product limits how many non-zero integers the check may put into it.
func (b *builder) contraction(factors []domain.Extent) expr.Expr {
	product := extents.Number(1)
	for _, f := range factors {
		product = extents.Together(product, b.scope.Raw(f))
	}
	return b.scope.Shortened(product.Expr)
}

// terms returns, by tensor name, the result of domain.Contractions for the operations of the model.
func terms(p *hostir.Program) map[string]domain.Terms {
	shapes := make(map[string][]domain.Extent, len(p.Tensors))
	for _, t := range p.Tensors {
		shapes[t.Name] = domain.Extents(t.Axes)
	}
	for _, op := range p.Reference {
		shapes[op.Out] = op.Shape
	}
	return domain.Contractions(p.Reference, func(tensor string) []domain.Extent { return shapes[tensor] })
}

// transportOf names the transports of a program for reports: "ipc-get", "nccl", "ipc-get, ipc-put". It omits NCCL if
// there are others, and returns "nccl" if there is no communication.
func transportOf(p *hostir.Program) string {
	used := map[string]bool{}
	for s := range hostir.All(p.Body) {
		switch s := s.(type) {
		case *hostir.Communication:
			used[s.Backend.Row().Name] = true
		case *hostir.P2PCommunication:
			used[s.Backend.Row().Name] = true
		}
	}
	delete(used, schedule.NCCL)
	return cmp.Or(strings.Join(slices.Sorted(maps.Keys(used)), ", "), schedule.NCCL)
}
