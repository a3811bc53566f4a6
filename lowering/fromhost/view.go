package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// view declares a pointer for a view, before the current statement. The pointer is in scope until the end of the list
// of statements. The pointer of an Either has a value for each side.
func (b *builder) view(t *hostir.Tensor) *buffer {
	d := &calls.Declare{Name: b.variable(t), Type: t.DType}
	var view *buffer
	if of, decides := t.Of.(*hostir.Either); decides {
		then := b.viewOf(of.Then)
		other := b.viewOf(of.Else)
		view = b.newBuffer(t, d.Name)
		view.known, view.input = false, then.input || other.input
		d.Value, d.Cond, d.Else = b.place(then), b.index(of.Cond), b.place(other)
	} else {
		view = b.viewOf(t)
		d.Value, view.name = b.place(view), d.Name
	}
	if guard := b.guardFor(hostir.Ranks(t.Of), t.Mesh); guard != b.inside {
		d.Guard = guard
	}
	d.Const, d.Shape = view.input, view.shape()
	b.declare(t, view)
	b.note(t.Of, []calls.Stmt{d})
	b.views = append(b.views, d)
	return view
}

// viewOf returns a view's part of the memory of the tensor that it is a view of.
func (b *builder) viewOf(t *hostir.Tensor) *buffer {
	in := b.operandBuffer(t.Of, hostir.Uses(t.Of)[0])
	return b.seenAs(t.Of, in)
}

// rearranged lowers a Broadcast, Reshape, Permute or Slice whose result has separate memory. It copies the operand.
func (b *builder) rearranged(s hostir.Stmt) []calls.Stmt {
	buffers := b.operandBuffers(s, hostir.Result(s), hostir.Uses(s)[0])
	in := b.seenAs(s, buffers[1])
	return b.copy(s, buffers[0], in)
}

// seenAs returns the part of the operand's memory that the result of a statement would be a view of, with the axes of
// the result.
func (b *builder) seenAs(s hostir.Stmt, in *buffer) *buffer {
	out, from, dims := hostir.Result(s), in, slices.Clone(in.dims)
	if out.DType != in.tensor.DType {
		refuse(internalError(s, "%s and %s differ in type", out.Name, in.tensor.Name))
	}
	var offset expr.Expr
	switch s := s.(type) {
	case *hostir.Select:
		offset, dims = b.selected(s, dims)
	case *hostir.Broadcast: // an axis of one element takes no memory
		dims = slices.Insert(dims, min(s.Axis, len(dims)), dim{extent: extents.Number(1), stride: extents.Number(0)})
	case *hostir.Permute:
		for i, axis := range s.Perm {
			dims[i] = in.dims[axis]
		}
	case *hostir.Reshape:
		dims = b.newBuffer(&hostir.Tensor{Axes: out.Axes, DType: out.DType}, in.base).dims
		if !rowMajor(in.dims) && !follow(dims, in.dims) {
			refuse(b.notContiguous(s, s.In, "a reshape"))
		}
	case *hostir.Slice:
		r := hostir.Ranges(s)[0]
		from = in.part(r.InAxis, b.scope.Extent(s.Start), b.scope.Local(out.Axes[r.OutAxis]))
		dims = from.dims
	}
	if !sameShape(out, dims) {
		refuse(internalError(s, "%s has another shape than what it is a view of", out.Name))
	}
	view := from.as(out, dims)
	view.at, view.name = expr.Sum(from.at, offset), ""
	return view
}

// selected selects one index of an axis, and removes the axis from dims. With Parts, it selects one of several equal
// parts of the axis. It does nothing for a reduced axis, which has no dim. offset is in elements.
func (b *builder) selected(s *hostir.Select, dims []dim) (offset expr.Expr, rest []dim) {
	at := slices.IndexFunc(dims, func(d dim) bool { return d.axis == s.Axis })
	if at < 0 {
		return nil, dims
	}
	apart := dims[at].stride
	if s.Parts == 0 {
		return step(b.indexOf(s), apart), slices.Delete(dims, at, at+1)
	}
	dims[at].extent = b.scope.Local(s.Out.Axes[hostir.Live(s.Out)[at]])
	return step(b.indexOf(s), extents.Times(dims[at].extent, apart)), dims
}

// follow sets the strides of shaped so that it is a view of the elements of in, in the same logical order. It reports
// whether such strides exist. Where in has no gaps, the strides are products of shaped's own extents and not the strides
// of in: both have the same values here, but perhaps not for other parameter values.
func follow(shaped, in []dim) bool {
	mine, other := longAxes(shaped), long(in)
	sizes := func(dims []dim) (list []int64) {
		for _, d := range dims {
			list = append(list, d.extent.Size)
		}
		return list
	}
	groups, ok := hostir.Regrouped(sizes(long(shaped)), sizes(other))
	if !ok {
		return false
	}
	behind := extents.Number(1) // the stride of the next outer axis
	for _, g := range slices.Backward(groups) {
		from, to := other[len(other)-g.In:], mine[len(mine)-g.Out:]
		for k := 1; k < len(from); k++ { // axes that become one have to be contiguous
			ok = ok && from[k-1].stride.Size == extents.MustMultiply(from[k].stride.Size, from[k].extent.Size)
		}
		if step := last(from).stride; step.Size != behind.Size {
			behind = step
		}
		for _, axis := range slices.Backward(to) {
			shaped[axis].stride, behind = behind, extents.Times(shaped[axis].extent, behind)
		}
		mine, other = mine[:len(mine)-g.Out], other[:len(other)-g.In]
	}
	return ok
}

// longAxes lists the indices of dims with more than one element.
func longAxes(dims []dim) (axes []int) {
	for i, d := range dims {
		if !d.extent.IsOne() {
			axes = append(axes, i)
		}
	}
	return axes
}
