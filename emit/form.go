package emit

import (
	"cmp"
	"math"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// A form is one variant of a program: the program itself, or the fallback variant for ranks that cannot all share
// memory.
type form struct {
	calls *calls.Described
	view  *programView
	spec  []byte // text of the spec; nil: unknown
}

// interfaceTensors adds the inputs and outputs of the program to the view.
func (f *form) interfaceTensors() {
	roots := f.inverseRoots()
	for i := range f.calls.Tensors {
		t, argument := &f.calls.Tensors[i], f.calls.Arguments[i]
		view := tensorView{
			Tensor: t, Var: argument.Name, Local: f.local(t), Type: *t.Type.Row(), Axes: f.globalAxes(t),
			Shape: axesOf(t, domain.WithoutReductions(t.Axes)), Saved: f.saves(t.Name), Output: argument.Output, Where: calls.At(t.Pos, ""),
			Deviation: cmp.Or(f.inverseRoot(t), roots[t.Deviation], decimal(t.Deviation)),
		}
		if t.On != "" {
			f.view.UsesRank = true
			view.Present = t.On + ".holds(rank)"
		}
		if t.Terms != expr.Int(1) {
			view.Contraction = spell(t.Terms)
		}
		f.view.Tensors = append(f.view.Tensors, view)
	}
}

// axesOf prints axes of a tensor, and the mesh that holds it if not all ranks have a part.
func axesOf(t *calls.Tensor, axes []domain.Axis) string {
	text := domain.FormatAxes(axes)
	if t.On != "" {
		text += " on mesh " + t.Mesh.Name
	}
	return text
}

// inverseRoot returns the C++ expression of a tensor's standard deviation if that is 1 / sqrt(K), for the K terms of the longest
// sum, and otherwise "".
func (f *form) inverseRoot(t *calls.Tensor) string {
	if n, known := f.calls.Values().Eval(t.Terms); !known || t.Deviation != 1/math.Sqrt(float64(n)) {
		return ""
	}
	return "hirgen::inverse_root(" + spell(t.Terms) + ")"
}

// inverseRoots maps 1 / sqrt(K), for the K of each GEMM, to the C++ expression that computes it. Weights often have
// this standard deviation.
func (f *form) inverseRoots() map[float64]string {
	roots, values := map[float64]string{}, f.calls.Values()
	for _, d := range slices.Backward(f.calls.Shapes) {
		n, _ := values.Eval(d.K)
		roots[1/math.Sqrt(float64(n))] = "hirgen::inverse_root(" + spell(d.K) + ")"
	}
	return roots
}

// globalAxes returns the initialisers of hirgen::Axis for the axes of a whole tensor, over all ranks.
func (f *form) globalAxes(t *calls.Tensor) []string {
	var axes []string
	for _, a := range t.Live {
		extent := spell(a.Whole)
		switch a.Kind {
		case domain.Device:
			f.coordinate(a)
			axes = append(axes, "hirgen::split("+extent+", "+a.Coordinate+")")
		case domain.Broadcast:
			axes = append(axes, braces("1"))
		default:
			axes = append(axes, braces(extent))
		}
	}
	return axes
}

// local returns the shape of one rank's buffer, as text.
func (f *form) local(t *calls.Tensor) string {
	var shape []expr.Expr
	for _, a := range t.Live {
		shape = append(shape, a.Local)
	}
	return brackets(shape)
}

// coordinate adds this rank's coordinate along the mesh axis that splits axis a to the view, unless the view has it.
func (f *form) coordinate(a calls.LiveAxis) {
	f.view.UsesRank = true
	if want := (coordinateView{a.Coordinate, a.Of, a.Number}); !slices.Contains(f.view.Coordinates, want) {
		f.view.Coordinates = append(f.view.Coordinates, want)
	}
}

// report fills the fields of the program table from which the driver reports sizes, communications and
// parameters.
func (f *form) report() {
	about, v := &f.calls.About, f.view
	for _, p := range about.Gemms {
		v.GemmSizes = append(v.GemmSizes, braces(spell(p.M), spell(p.N), spell(p.K), spell(p.Batch)))
	}
	v.Bytes, v.Largest = "0", about.Largest
	if about.Bytes != nil {
		v.Bytes = spell(about.Bytes)
	}
	if about.Team != nil && about.Team != expr.Int(1) {
		v.Team = spell(about.Team)
	}
	for _, m := range about.Movements {
		v.Communications = append(v.Communications, cstr(m))
	}
	for _, p := range f.calls.Params {
		v.Parameters = append(v.Parameters, braces(cstr(p.Spec), p.Name))
	}
	v.Ranks = about.World.Size()
	v.WorldSize = spell(about.Ranks)
}
