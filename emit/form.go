package emit

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls/fromhost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A form is one variant of a program: the program itself, or the fallback variant for ranks that cannot all share
// memory.
type form struct {
	program *hostir.Program
	calls   *fromhost.Lowered
	view    *programView
	terms   map[string]domain.Terms // of the sums of the model's GEMMs, by operand
}

// interfaceTensors describes the tensors of the interface.
func (f *form) interfaceTensors() {
	for i, t := range f.calls.Tensors {
		view := tensorView{
			Name: t.Name, Var: f.calls.Arguments[i].Name, Local: f.local(t), Type: cppTypes[t.DType], Axes: f.globalAxes(t), Shape: domain.FormatAxes(t.Axes) + f.onMesh(t),
			Saved: f.saves(t.Name), Present: f.present(t), Output: f.calls.Arguments[i].Output, Where: fromhost.At(t.Pos, ""),
			Deviation: decimal(t.Deviation), Tolerance: decimal(t.Tolerance),
		}
		if c := f.calls.Contraction(f.terms[t.Name].Factors); c != expr.Int(1) {
			view.Contraction = spell(c)
		}
		f.view.Tensors = append(f.view.Tensors, view)
	}
}

// globalAxes returns the initialisers of a tensor's axes, as all ranks together have it.
func (f *form) globalAxes(t *hostir.Tensor) []string {
	var axes []string
	for _, i := range hostir.Live(t) {
		a := t.Axes[i]
		extent := spell(f.calls.Extent(a.Extent))
		switch a.Kind {
		case domain.Device:
			axes = append(axes, braces(extent, extent, f.coordinate(t.Mesh, a.Mesh)))
		case domain.Broadcast:
			axes = append(axes, braces("1"))
		default:
			axes = append(axes, braces(extent))
		}
	}
	return axes
}

// local returns the shape of one rank's buffer.
func (f *form) local(t *hostir.Tensor) string {
	var shape []expr.Expr
	for _, i := range hostir.Live(t) {
		extent := expr.Expr(expr.Int(1))
		if a := t.Axes[i]; a.Kind != domain.Device && a.Kind != domain.Broadcast {
			extent = f.calls.RawExtent(a.Extent)
		}
		shape = append(shape, extent)
	}
	return brackets(shape)
}

// coordinate returns the name of this rank's coordinate along a mesh axis, and declares it if it is new.
func (f *form) coordinate(m *domain.Mesh, axis string) string {
	f.view.UsesRank = true
	want := coordinateView{Mesh: f.calls.Mesh(m)}
	want.Name, want.Axis = f.calls.Coordinate(m, axis)
	for _, c := range f.view.Coordinates {
		if c == want {
			return c.Name
		}
	}
	f.view.Coordinates = append(f.view.Coordinates, want)
	return want.Name
}

// everywhere reports whether every rank has a shard of a tensor.
func (f *form) everywhere(t *hostir.Tensor) bool {
	return t.Mesh == nil || t.Mesh.Size() == f.program.Meshes[0].Size()
}

// onMesh names the mesh of a tensor that only some ranks have. It is empty for other tensors.
func (f *form) onMesh(t *hostir.Tensor) string {
	if f.everywhere(t) {
		return ""
	}
	return " on mesh " + t.Mesh.Name
}

// present returns the C++ condition for whether a rank has a shard of a tensor. It is empty if every rank has one.
func (f *form) present(t *hostir.Tensor) string {
	if f.everywhere(t) {
		return ""
	}
	f.view.UsesRank = true
	return f.calls.Mesh(t.Mesh) + ".holds(rank)"
}

// report fills the columns of the driver's report.
func (f *form) report() {
	r, v := f.calls.Report, f.view
	for _, p := range r.Gemms {
		v.GemmSizes = append(v.GemmSizes, braces(spell(p.M), spell(p.N), spell(p.K), spell(p.Batch)))
	}
	v.Bytes, v.Largest = "0", r.Largest
	if r.Bytes != nil {
		v.Bytes = spell(r.Bytes)
	}
	if r.Team != nil && r.Team != expr.Int(1) {
		v.Team = spell(r.Team)
	}
	for _, m := range hostir.Movements(f.program) {
		v.Communications = append(v.Communications, cstr(m.Short(f.program.Meshes[0].Name)))
	}
	for _, p := range f.calls.Params {
		v.Parameters = append(v.Parameters, braces(cstr(p.Spec), p.Name))
	}
	v.Ranks = f.program.Meshes[0].Size()
	v.WorldSize = spell(f.calls.WorldSize())
}

// terms finds the sums in the operations of the model.
func terms(p *hostir.Program) map[string]domain.Terms {
	shapes := make(map[string][]domain.Extent, len(p.Tensors))
	for _, t := range p.Tensors {
		shapes[t.Name] = domain.Extents(t.Axes)
	}
	ops := make([]domain.Operation, len(p.Reference))
	for i, op := range p.Reference {
		shapes[op.Out] = op.Shape
		ops[i] = domain.Operation{Kind: op.Kind, Fn: op.Fn, In: op.In, Out: op.Out, Axis: op.Axis}
	}
	return domain.Contractions(ops, func(tensor string) []domain.Extent { return shapes[tensor] })
}
