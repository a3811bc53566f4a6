package model

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

func inferReduce(in *inference) bool {
	axes := in.axesOf(0)
	axis, ok := in.axisAttr(len(axes))
	if !ok {
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
	in.axes = slices.Insert(axes, axis, domain.Stretched())
	return true
}

// inferPositions derives one axis: the given axis of the operand, or an axis with the extent of the attribute size. The indices are
// fp32, which is exact for integers up to mostPositions.
func inferPositions(in *inference) bool {
	in.op.Axis = -1
	attr, of := in.src.attr("size"), "the result"
	switch {
	case attr == nil:
		axes := in.axesOf(0)
		axis, ok := in.axisAttr(len(axes))
		if !ok {
			return false
		}
		in.op.Axis, in.axes, of = axis, axes[axis:axis+1], fmt.Sprintf("axis %d of %s", axis, in.op.In[0].Name)
	case attr.list || in.src.attr("axis") != nil:
		in.a.list.Add(attr.name.pos, diag.BadAttribute, "positions run along one axis, or have one size")
		return false
	default:
		size, ok := in.a.extent(attr.values[0])
		if !ok {
			return false
		}
		in.axes = []domain.Axis{{Extent: size}}
	}
	if in.axes[0].Size > mostPositions {
		in.fail(diag.BadAttribute, "%s has %s elements, and positions are exact up to %d", of, withValue(in.axes[0].Extent), mostPositions)
		return false
	}
	in.dtype = domain.FP32
	return true
}

// mostPositions is the largest integer up to which fp32 represents all integers.
const mostPositions = 1 << 24

// axisAttr reads the attribute axis, 0 to n-1, or -1 to -n if counted from the end. It returns an index from 0.
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
		in.a.list.Add(t.pos, diag.BadAttribute, "axis %d is not between %d and %d", v.value, -n, n-1)
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
	from, fits := domain.Elements(domain.Shape(in.op.In[0].Axes))
	to, alsoFits := domain.Elements(domain.Shape(in.axes))
	if from != to || !fits || !alsoFits {
		in.fail(diag.ShapeMismatch, "a reshape keeps the number of elements, but %s %s has %d and the result %s has %d", in.op.In[0].Name,
			domain.FormatShape(domain.Shape(in.op.In[0].Axes)), from,
			domain.FormatShape(domain.Shape(in.axes)), to)
		return false
	}
	return true
}
