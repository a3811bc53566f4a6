package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// inferSame is for operations whose result has the operand's axes.
func inferSame(in *inference) bool {
	in.axes = in.axesOf(0)
	return true
}

// inferConstant is for functions of an operand and a constant, which becomes a part of
// the function.
func inferConstant(in *inference) bool {
	name := in.rule.fn
	attr := in.src.attr("by")
	if attr == nil || attr.list {
		in.fail(diag.BadAttribute, "%s needs one constant", name).WithHint("write %s(%s, by=0.5)", name, in.op.In[0].Name)
		return false
	}
	by, err := strconv.ParseFloat(attr.values[0].value, 32)
	if err != nil || math.IsInf(by, 0) || math.IsNaN(by) {
		in.a.list.Add(attr.values[0].pos, diag.BadAttribute, "%q is no number that fp32 holds", attr.values[0].value)
		return false
	}
	in.rule.fn = domain.JoinFn(name, by)
	in.axes = in.axesOf(0)
	return true
}

func inferCast(in *inference) bool {
	attr := in.src.attr("dtype")
	switch {
	case attr != nil && !attr.list:
		in.dtype = in.a.elementType(attr.values[0], "")
	case attr != nil:
		in.a.list.Add(attr.name.pos, diag.BadAttribute, "dtype is one element type, not a list")
	case in.out != nil:
		in.dtype = in.out.DType
	default:
		in.fail(diag.BadAttribute, "cast needs an element type").WithHint("write cast(%s, dtype=fp32)", in.op.In[0].Name)
	}
	in.axes = in.axesOf(0)
	return in.dtype != ""
}

func inferBinary(in *inference) bool {
	if !in.sameDTypes() {
		return false
	}
	var ok bool
	in.axes, ok = in.stretch(in.axesOf(0), in.axesOf(1))
	return ok
}

// sameDTypes checks that the operands have one element type.
func (in *inference) sameDTypes() bool {
	first := in.op.In[0]
	for i, t := range in.op.In {
		if t.DType != first.DType {
			in.a.list.Add(in.src.args[i].pos, diag.DTypeMismatch, "%s is %s, but %s is %s", t.Name, t.DType, first.Name, first.DType).
				WithHint("convert one of them with cast")
			return false
		}
	}
	return true
}

// stretch joins the axes of two operands as NumPy does: aligned at the end, an axis
// of one element stretches to the other's extent.
func (in *inference) stretch(a, b []domain.Axis) ([]domain.Axis, bool) {
	swapped := len(a) < len(b)
	if swapped {
		a, b = b, a
	}
	joined := slices.Clone(a)
	offset := len(a) - len(b)
	for i, axis := range b {
		other := a[offset+i]
		switch {
		case axis.Extent.Size == other.Extent.Size:
			joined[offset+i] = joinKinds(other, axis)
		case other.Extent.Size == 1:
			joined[offset+i] = axis
		case axis.Extent.Size != 1:
			x, y := other, axis
			if swapped {
				x, y = y, x
			}
			in.fail(diag.ShapeMismatch, "the axes %s of %s and %s of %s meet and have different extents",
				withValue(x.Extent), in.op.In[0].Name, withValue(y.Extent), in.op.In[1].Name)
			return nil, false
		}
	}
	return joined, true
}

// joinKinds is the axis that two equal extents make. What is split over the mesh in
// one operand only is not split in the result: it takes a communication, and where
// that goes is not for inference to say.
func joinKinds(a, b domain.Axis) domain.Axis {
	switch {
	case a.Kind == b.Kind && a.Mesh == b.Mesh:
		return a
	case a.Kind == domain.Broadcast || a.Kind == domain.Serial && b.Kind == domain.Stream:
		return b
	case b.Kind == domain.Broadcast || b.Kind == domain.Serial && a.Kind == domain.Stream:
		return a
	}
	return serial(a)
}

func inferMatmul(in *inference) bool {
	return in.product(in.axesOf(0), in.axesOf(1))
}

// inferLinear is a product with the transposed weight, plus a bias with the axes of
// the weight's rows.
func inferLinear(in *inference) bool {
	w := in.axesOf(1)
	if n := len(w); n >= 2 {
		w = slices.Clone(w)
		w[n-2], w[n-1] = w[n-1], w[n-2]
	}
	if !in.product(in.axesOf(0), w) {
		return false
	}
	if len(in.op.In) < 3 {
		return true
	}
	weight, bias := domain.Shape(in.op.In[1].Axes), domain.Shape(in.op.In[2].Axes)
	if want := weight[:len(weight)-1]; !slices.Equal(bias, want) {
		in.a.list.Add(in.src.args[2].pos, diag.ShapeMismatch, "the bias %s has shape %s; it goes with the rows %s of %s",
			in.op.In[2].Name, formatShape(bias), formatShape(want), in.op.In[1].Name)
		return false
	}
	return true
}

// product derives [..., m, k] x [k, n], where all leading axes of a are rows, and
// [batch..., m, k] x [batch..., k, n].
func (in *inference) product(a, b []domain.Axis) bool {
	if !in.sameDTypes() {
		return false
	}
	x, y := in.op.In[0], in.op.In[1]
	for i, axes := range [][]domain.Axis{a, b} {
		if len(axes) < 2 {
			in.a.list.Add(in.src.args[i].pos, diag.BadAxisCount, "%s has %d axis; %s needs at least 2", in.op.In[i].Name, len(axes), in.src.fn.value)
			return false
		}
	}
	m, n := len(a), len(b)
	k := a[m-1].Extent
	if k.Size != b[n-2].Extent.Size {
		in.fail(diag.ShapeMismatch, "%s sums over the last axis of %s, %s, and axis %d of %s, %s, which differ",
			in.src.fn.value, x.Name, withValue(k), in.summedAxis(n), y.Name, withValue(b[n-2].Extent))
		return false
	}
	rows := a[:m-1]
	if n > 2 {
		batch, ok := in.stretch(a[:m-2], b[:n-2])
		if !ok {
			return false
		}
		rows = slices.Concat(batch, a[m-2:m-1])
	}
	in.axes = slices.Concat(rows, b[n-1:])
	in.reduced = reducedAxis{extent: k, at: len(in.axes), exists: true}
	return true
}

// summedAxis is the axis of the second operand, of n axes, that a product sums over.
func (in *inference) summedAxis(n int) int {
	if in.rule.kind == OpLinear {
		return n - 1
	}
	return n - 2
}

// withValue prints an extent with its value: "M/S = 2048", or "8".
func withValue(e domain.Extent) string {
	if e.Text == "" {
		return e.String()
	}
	return fmt.Sprintf("%s = %d", e.Text, e.Size)
}

func inferReduce(in *inference) bool {
	axes := in.axesOf(0)
	axis, ok := in.axisAttr(len(axes))
	if !ok {
		return false
	}
	if len(axes) == 1 {
		in.fail(diag.BadAxisCount, "%s over the only axis of %s leaves no axis", in.src.fn.value, in.op.In[0].Name)
		return false
	}
	in.op.Axis = axis
	in.reduced = reducedAxis{extent: axes[axis].Extent, at: axis, exists: true}
	in.axes = slices.Delete(axes, axis, axis+1)
	return true
}

func inferBroadcast(in *inference) bool {
	axes := in.axesOf(0)
	axis, ok := in.axisAttr(len(axes) + 1)
	if !ok {
		return false
	}
	in.op.Axis = axis
	in.axes = slices.Insert(axes, axis, domain.Axis{Kind: domain.Broadcast, Extent: domain.Extent{Size: 1}})
	return true
}

// axisAttr reads the attribute axis: 0 to n-1, or counted from the end, -1 to -n.
func (in *inference) axisAttr(n int) (int, bool) {
	attr := in.src.attr("axis")
	if attr == nil || attr.list {
		in.fail(diag.BadAttribute, "%s needs one axis", in.src.fn.value).
			WithHint("write %s(%s, axis=0)", in.src.fn.value, in.op.In[0].Name)
		return 0, false
	}
	return in.axisIndex(attr.values[0], n)
}

func (in *inference) axisIndex(t text, n int) (int, bool) {
	v, ok := in.a.eval(t)
	if !ok {
		return 0, false
	}
	if v.value < int64(-n) || v.value >= int64(n) {
		in.a.list.Add(t.pos, diag.BadAttribute, "axis %d is not between 0 and %d", v.value, n-1)
		return 0, false
	}
	if v.value < 0 {
		v.value += int64(n)
	}
	return int(v.value), true
}

func inferPermute(in *inference) bool {
	axes := in.axesOf(0)
	attr := in.src.attr("perm")
	if attr == nil || !attr.list {
		in.fail(diag.BadAttribute, "permute needs a list of axes").WithHint("write permute(%s, perm=[1, 0])", in.op.In[0].Name)
		return false
	}
	if len(attr.values) != len(axes) {
		in.a.list.Add(attr.name.pos, diag.BadAttribute, "perm has length %d, but %s has %d axes", len(attr.values), in.op.In[0].Name, len(axes))
		return false
	}
	for _, t := range attr.values {
		i, ok := in.axisIndex(t, len(axes))
		if !ok {
			return false
		}
		if slices.Contains(in.op.Perm, i) {
			in.a.list.Add(t.pos, diag.BadAttribute, "perm lists axis %d twice", i)
			return false
		}
		in.op.Perm = append(in.op.Perm, i)
		in.axes = append(in.axes, axes[i])
	}
	return true
}

// inferReshape takes the shape from the attribute or from the declared result.
func inferReshape(in *inference) bool {
	attr := in.src.attr("shape")
	switch {
	case attr != nil && !attr.list:
		in.a.list.Add(attr.name.pos, diag.BadAttribute, "shape is a list").WithHint("write shape=[M, N]")
		return false
	case attr != nil:
		for _, t := range attr.values {
			e, ok := in.a.extent(t)
			if !ok {
				return false
			}
			in.axes = append(in.axes, domain.Axis{Extent: e})
		}
	case in.out != nil:
		in.axes = domain.WithoutReductions(in.out.Axes)
	default:
		in.fail(diag.BadAttribute, "reshape needs a shape").
			WithHint("write reshape(%s, shape=[M, N]), or declare %s", in.op.In[0].Name, in.src.out.value)
		return false
	}
	from, fits := elements(domain.Shape(in.op.In[0].Axes))
	to, alsoFits := elements(domain.Shape(in.axes))
	if from != to || !fits || !alsoFits {
		in.fail(diag.ShapeMismatch, "reshape keeps the number of elements, but %s has %d and the result %d", in.op.In[0].Name, from, to)
		return false
	}
	return true
}

// elements multiplies extents and reports whether the product fits in 64 bits.
func elements(shape []int64) (int64, bool) {
	n := int64(1)
	for _, extent := range shape {
		product, ok := expr.Mul(n, extent)
		if !ok {
			return 0, false
		}
		n = product
	}
	return n, true
}
