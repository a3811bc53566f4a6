package eval

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// findMaxima records in b.maxima that the result of op has the largest elements of a tensor along an axis, with an axis of one element in
// its place. op is a maximum, or moves one.
func (b *bounder) findMaxima(op *model.Op) {
	if op.Kind == model.OpReduce && op.Fn == "max" {
		b.maxima[op.Out] = op
		return
	}
	if fold := b.maxima[op.In[0]]; fold != nil && (op.Kind == model.OpBroadcast || op.Kind == model.OpReshape || op.Kind == model.OpSet) {
		b.maxima[op.Out] = fold
	}
}

// ofMaxima bounds eq(X, max X) and ge(X, max X), which find the largest element of each row. Where no other element of a row may be as
// large, the bounds of the row become 0: both operands have the same errors, of which varied does not know. A kernel may compute X again
// without rounding it, and read a maximum that was rounded, so X must be as exact in memory as in a kernel. It returns false if op is
// another operation, and whether other rows have bounds.
func (b *bounder) ofMaxima(op *model.Op, x, e, bound, leap *Array) (is, jumps bool) {
	if op.Kind != model.OpBinary || op.Fn != "eq" && op.Fn != "ge" {
		return false, false
	}
	fold := b.maxima[op.In[1]]
	if fold == nil || fold.In[0] != op.In[0] || op.In[0].DType.Size() < domain.FP32.Size() {
		return false, false
	}
	rows := slices.Clone(x.Shape)
	rows[fold.Axis] = 1
	if !slices.Equal(domain.Shape(op.In[1].Axes), rows) {
		return false, false
	}
	inner := int64(1)
	for _, n := range x.Shape[fold.Axis+1:] {
		inner *= n
	}
	count := x.Shape[fold.Axis]
	for row := range int64(len(x.Data)) / count {
		first := row/inner*count*inner + row%inner
		certain := oneLargest(x, e, first, count, inner)
		for i := first; i < first+count*inner; i += inner {
			if certain {
				bound.Data[i], leap.Data[i] = 0, 0
			}
			jumps = jumps || bound.Data[i] > 0
		}
	}
	return true, jumps
}

// oneLargest reports whether one of count elements, from first on at a distance of inner, is the largest whatever their errors e are.
func oneLargest(x, e *Array, first, count, inner int64) bool {
	best := first
	for i := first; i < first+count*inner; i += inner {
		if math.IsNaN(x.Data[i]) {
			return false
		}
		if x.Data[i] > x.Data[best] {
			best = i
		}
	}
	if math.IsInf(e.Data[best], 0) {
		return false
	}
	for i := first; i < first+count*inner; i += inner {
		if i != best && !(x.Data[i]+e.Data[i] < x.Data[best]-e.Data[best]) { // also for an infinite error
			return false
		}
	}
	return true
}
