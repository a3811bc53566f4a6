package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/extents"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// allocate gives a Temp its memory. Buffers are made once, before the first call, and
// stay: an Allocate inside a loop gets one buffer per iteration, since iterations
// overlap.
func (b *builder) allocate(s *hostir.Allocate) ([]calls.Stmt, error) {
	t := s.Tensor
	if t.Role == hostir.Output || t.Role == hostir.Input {
		return nil, nil // bound to the caller's pointer at the start
	}
	buf := b.newBuffer(t, b.names.Member(t.Name))
	elements := buf.elements()
	shape := buf.shape()
	if len(b.loops) > 0 {
		shape = append([]expr.Expr{b.iterations().Expr}, shape...)
	}
	b.out.Buffers = append(b.out.Buffers, &calls.Buffer{
		Name: buf.base, Type: t.DType, Elements: extents.Times(b.iterations(), elements).Expr, Where: At(s.Pos, t.Name), Guard: b.guard, Shape: shape,
	})
	if len(b.loops) > 0 {
		buf.at = step(iteration(b.loops), elements)
		b.copies[t] = b.iterations()
	}
	b.declare(t, buf)
	return nil, nil
}

// selectSlice makes a view with one axis fixed, or cut to a part.
func (b *builder) selectSlice(s *hostir.Select) ([]calls.Stmt, error) {
	in, err := b.operandBuffer(s, s.In)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(in.dims, func(d dim) bool { return d.axis == s.Axis })
	if at < 0 && s.In.Axes[s.Axis].Kind == domain.Reduction {
		return b.newView(s, in, s.Out, in.dims, nil) // the axis is not there
	}
	if at < 0 {
		return nil, internalError(s.Pos, hostir.Op(s), "axis %d of %s is not in its buffer", s.Axis, s.In.Name)
	}
	apart := in.dims[at].stride
	dims := slices.Clone(in.dims)
	if s.Parts == 0 {
		dims = slices.Delete(dims, at, at+1)
	} else {
		dims[at].extent = b.scope.Local(s.Out.Axes[hostir.Live(s.Out)[at]])
		apart = extents.Times(dims[at].extent, apart)
	}
	if !sameShape(s.Out, dims) {
		return nil, internalError(s.Pos, hostir.Op(s), "%s is not what is selected of %s along axis %d", s.Out.Name, s.In.Name, s.Axis)
	}
	return b.newView(s, in, s.Out, dims, step(b.indexOf(s), apart))
}

// step is index times stride; nil when it is zero.
func step(index expr.Expr, stride extents.Quantity) expr.Expr {
	if index == expr.Int(0) {
		return nil
	}
	if stride.IsOne() {
		return index
	}
	product := index
	for _, factor := range extents.Multiplied(stride.Expr) {
		product = &expr.Binary{Op: "*", X: product, Y: factor}
	}
	return product
}

// indexOf is the index of a Select, as an expression of names of the calls.
func (b *builder) indexOf(s *hostir.Select) expr.Expr {
	return b.withCoordinates(b.meshOf(s.In), b.scope.Rename(expr.Fold(s.Index)))
}

// broadcast adds an axis of one element, which takes no memory.
func (b *builder) broadcast(s *hostir.Broadcast) ([]calls.Stmt, error) {
	in, err := b.operandBuffer(s, s.In)
	if err != nil {
		return nil, err
	}
	if s.Axis < 0 || s.Axis > len(in.dims) {
		return nil, internalError(s.Pos, hostir.Op(s), "%s has no place for axis %d", s.In.Name, s.Axis)
	}
	dims := slices.Insert(slices.Clone(in.dims), s.Axis, dim{extent: extents.Number(1), stride: extents.Number(0)})
	return b.viewOrCopy(s, in, s.Out, dims)
}

// reshape gives the same elements another shape: a view where the operand is one run
// of memory in its logical order.
func (b *builder) reshape(s *hostir.Reshape) ([]calls.Stmt, error) {
	in, err := b.operandBuffer(s, s.In)
	if err != nil {
		return nil, err
	}
	if !rowMajor(in.dims) {
		return nil, b.notContiguous(s, s.In, "a reshape")
	}
	shaped := b.newBuffer(&hostir.Tensor{Axes: s.Out.Axes, DType: s.Out.DType}, in.base)
	if shaped.elements().Size != in.elements().Size {
		return nil, internalError(s.Pos, hostir.Op(s), "%s and %s differ in their number of elements", s.In.Name, s.Out.Name)
	}
	return b.viewOrCopy(s, in, s.Out, shaped.dims)
}

// viewOrCopy makes out a view of in with these axes, or, when out has memory of its
// own, copies into it.
func (b *builder) viewOrCopy(s hostir.Stmt, in *buffer, out *hostir.Tensor, dims []dim) ([]calls.Stmt, error) {
	if own, ok := b.buffers[out]; ok && own.root != in.root {
		return b.copy(s, own, in.as(out, dims))
	}
	return b.newView(s, in, out, dims, nil)
}

// newView declares a pointer into another buffer.
func (b *builder) newView(s hostir.Stmt, in *buffer, out *hostir.Tensor, dims []dim, offset expr.Expr) ([]calls.Stmt, error) {
	if out.DType != in.tensor.DType {
		return nil, internalError(s.Meta().Pos, hostir.Op(s), "%s and %s differ in type", out.Name, in.tensor.Name)
	}
	view := in.as(out, dims)
	view.at, view.name = expr.Sum(in.at, offset), ""
	for _, kept := range b.keep {
		if _, wanted := kept[out]; wanted {
			place := *view
			kept[out] = &place
		}
	}
	if b.split[out] {
		b.declare(out, view)
		return nil, nil
	}
	name := b.variable(out)
	if _, again := b.buffers[out]; again {
		name = b.names.Local(out.Name)
	}
	view.name = name
	b.declare(out, view)
	return []calls.Stmt{&calls.Declare{
		Info: calls.Info{Pos: s.Meta().Pos}, Name: name, Type: view.typ, Const: view.input, Value: b.place(view), Shape: view.shape(),
	}}, nil
}
