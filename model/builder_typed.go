package model

import (
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// An Extent is a number of elements, slices or ranks: a constant, a parameter, or an expression over them. It is for
// programs that compute sizes. The text of a spec can express the same.
type Extent struct{ e expr.Expr }

// Constant returns a number that is not a parameter.
func Constant(n int64) Extent { return Extent{expr.Int(n)} }

// Extent adds a parameter, as Param does, and returns it for use in axes.
func (b *Builder) Extent(name string, value int64) Extent {
	b.Param(name, value)
	return Extent{expr.Var(name)}
}

// Times returns x * y.
func (x Extent) Times(y Extent) Extent { return x.with("*", y) }

// Over returns x / y. The division must be exact; otherwise Build returns an error.
func (x Extent) Over(y Extent) Extent { return x.with("/", y) }

// Plus returns x + y.
func (x Extent) Plus(y Extent) Extent { return x.with("+", y) }

// Minus returns x - y.
func (x Extent) Minus(y Extent) Extent { return x.with("-", y) }

func (x Extent) with(op string, y Extent) Extent {
	return Extent{&expr.Binary{Op: op, X: x.e, Y: y.e}}
}

// String spells the extent as a spec does: "M/(S*D)".
func (x Extent) String() string { return expr.Compact(x.e) }

// An Axis is an axis of a tensor: an Extent, or the result of Device, Stream, Reduction or Broadcast.
type Axis interface{ axis() string }

func (x Extent) axis() string { return x.String() }

// kindAxis is an axis with a kind, as a spec spells it.
type kindAxis string

func (a kindAxis) axis() string { return string(a) }

// Device returns an axis that is split over the ranks along an axis of the mesh: "x", "y" or "z".
func Device(meshAxis string) Axis { return kindAxis("DID" + meshAxis) }

// Stream returns an axis along which a pipeline works slice by slice.
func Stream(slices Extent) Axis { return kindAxis("Stream(" + slices.String() + ")") }

// Reduction returns an axis that the operation has reduced, which the buffer does not have.
func Reduction(extent Extent) Axis { return kindAxis("r(" + extent.String() + ")") }

// Broadcast returns an axis of one element that stretches to the extent of the axis of the other operand.
func Broadcast() Axis { return kindAxis("b(1)") }

// TensorOf is Tensor with typed axes.
func (b *Builder) TensorOf(name string, axes ...Axis) *TensorBuilder {
	return b.Tensor(name, lists.Map(axes, func(a Axis) string { return a.axis() })...)
}

// AxisOf is Axis with a typed extent.
func (m *MeshBuilder) AxisOf(name string, extent Extent) *MeshBuilder {
	return m.Axis(name, extent.String())
}
