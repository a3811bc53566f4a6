package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// inferSame gives the result the axes of the first operand.
func inferSame(in *inference) bool {
	in.axes = in.axesOf(0)
	return true
}

// inferConstant gives the result the axes of the operand, and adds the constant (attribute by) to the spelling of the
// function.
func inferConstant(in *inference) bool {
	name := in.rule.fn
	attr := in.src.attr("by")
	if attr == nil || attr.list {
		in.fail(diag.BadAttribute, "%s needs one constant", name).WithHint("write %s(%s, by=0.5)", name, in.op.In[0].Name)
		return false
	}
	by, ok := in.a.decimal(attr.values[0])
	if !ok {
		return false
	}
	in.rule.fn = domain.JoinFn(name, by)
	in.axes = in.axesOf(0)
	return true
}

// boolAttribute reads an attribute that is true or false. The default is false.
func (in *inference) boolAttribute(name string) (value, ok bool) {
	attr := in.src.attr(name)
	if attr == nil {
		return false, true
	}
	if !attr.list && (attr.values[0].value == "true" || attr.values[0].value == "false") {
		return attr.values[0].value == "true", true
	}
	in.a.list.Add(attr.name.pos, diag.BadAttribute, "%s is true or false", name)
	return false, false
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

// multiplies reports whether the operation is a GEMM.
func (in *inference) multiplies() bool {
	return multiplies(in.src.fn.value) || in.rule.kind == OpBlockLinear
}

// computesInFloats reports an operand in whose type the operation cannot compute. Moves, casts, positions and gathers
// take all types, as does the seed of a dropout, and GEMMs take fp8 types. Other operands must not be integers or fp8.
func (in *inference) computesInFloats() bool {
	integers := slices.ContainsFunc(in.op.In, func(t *Tensor) bool { return t.DType.IsInteger() })
	if integers && in.rule.kind == OpBinary && domain.FunctionOf(in.rule.fn).Is(domain.Integers) && !in.sameDTypes() {
		return false
	}
	for i, t := range in.op.In {
		if t.DType.Computes() || in.rule.kind == OpCast || in.rule.kind == OpPositions || in.rule.kind == OpDropout && i == 1 ||
			in.rule.kind == OpGather || in.rule.kind == OpBlockLinear || in.rule.kind.Moves() || in.multiplies() && i < 2 && t.DType.Saturates() {
			continue
		}
		kind, other := "integers", domain.FP32
		if !t.DType.IsInteger() {
			kind, other = "numbers of 8 bits", domain.BF16
		}
		in.a.list.Add(in.src.args[i].pos, diag.DTypeMismatch, "%s computes in no %s, and %s is %s", in.src.fn.value, kind, t.Name, t.DType).
			WithHint("convert it with cast(%s, dtype=%s)", t.Name, other)
		return false
	}
	return true
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

// stretch combines the axes of two operands as NumPy does: they are aligned at the end, and an axis of one element
// stretches to the other extent.
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
		case axis.Size == other.Size:
			joined[offset+i] = joinKinds(other, axis)
		case other.Size == 1:
			joined[offset+i] = axis
		case axis.Size != 1:
			places, extents := [2]int{offset + i, i}, [2]domain.Extent{other.Extent, axis.Extent}
			if swapped {
				slices.Reverse(places[:])
				slices.Reverse(extents[:])
			}
			x, y, hint := in.op.In[0], in.op.In[1], "axes are paired from the last one on, and one of extent 1 goes with any"
			switch axes := ofEachRank(x, y); {
			case in.multiplies() && axes != nil:
				hint = fmt.Sprintf("give %s the axes %s: each rank then multiplies all of %s", y.Name, domain.FormatAxes(axes), x.Name)
			case in.multiplies():
				hint = "axes before the rows and columns are paired from the last one on, and one of extent 1 goes with any"
			}
			in.fail(diag.ShapeMismatch, "%s pairs axis %d of %s, %s, with axis %d of %s, %s: their extents differ",
				cmp.Or(in.src.whole, in.describe()), places[0], x.Name, withValue(extents[0]), places[1], y.Name, withValue(extents[1])).
				WithHint("%s", hint).
				AddNote(x.Pos, "%s is %s", x.Name, domain.FormatAxes(x.Axes)).AddNote(y.Pos, "%s is %s", y.Name, domain.FormatAxes(y.Axes))
			return nil, false
		}
	}
	return joined, true
}

// ofEachRank returns the axes with which each rank multiplies all of x by its own matrix of w: an axis of one element for each batch axis
// of x. It returns nil if w does not have one matrix for each rank, or x is split, too.
func ofEachRank(x, w *Tensor) []domain.Axis {
	split := func(a domain.Axis) bool { return a.Kind != domain.Serial }
	if len(w.Axes) != 3 || w.Axes[0].Kind != domain.Device || slices.ContainsFunc(x.Axes, split) {
		return nil
	}
	ones := slices.Repeat([]domain.Axis{{Kind: domain.Serial, Extent: domain.Extent{Size: 1}}}, len(x.Axes)-2)
	return slices.Insert(slices.Clone(w.Axes), 1, ones...)
}

// joinKinds combines two axes of equal extents. If one axis is broadcast, the result is the other axis. If one axis is
// serial and the other a Stream axis, the result is the Stream axis. Other different axes become serial: a split of one
// operand alone needs a communication, and inference does not decide where. Of two extents of 1, a parameter comes before
// the number 1, which stretches if the parameter has another value.
func joinKinds(a, b domain.Axis) domain.Axis {
	if a.Size == 1 && a.Text == "" && a.Kind != domain.Device {
		a.Extent = b.Extent
	}
	switch {
	case a.Alike(b):
		return a
	case a.Kind == domain.Broadcast || a.Kind == domain.Serial && b.Kind == domain.Stream:
		return b
	case b.Kind == domain.Broadcast || b.Kind == domain.Serial && a.Kind == domain.Stream:
		return a
	}
	return serial(a)
}

// withValue prints an extent with its value: "M/S = 2048", or "8".
func withValue(e domain.Extent) string {
	if e.Text == "" {
		return e.String()
	}
	return fmt.Sprintf("%s = %d", e.Text, e.Size)
}
