package emit

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// allocate gives a Temp its memory. Buffers are made once, before the first call, and
// stay: an Allocate inside a loop gets one buffer per iteration, since iterations
// overlap.
func (b *builder) allocate(s *hostir.Allocate) ([]node, error) {
	t := s.Tensor
	if t.Role == hostir.Output || t.Role == hostir.Input {
		return nil, nil // bound to the caller's pointer at the start
	}
	if !b.used[t] {
		return nil, nil
	}
	buf := b.newBuffer(t, b.names.member(t.Name))
	elements := buf.elements()
	b.view.Buffers = append(b.view.Buffers, &bufferMember{
		Name: buf.name, Type: buf.typ.Alias, Shape: b.allocationShape(buf),
		Elements: times(b.iterations(), elements).String(), Where: at(s.Pos, t.Name), Guard: b.guard,
	})
	if len(b.loops) == 0 {
		b.declare(t, buf)
		return nil, nil
	}
	member := buf.name
	buf.name, buf.at = b.variable(t), step(iteration(b.loops), elements)
	b.copies[t] = b.iterations()
	b.declare(t, buf)
	return []node{&bufferNode{
		source: b.source(s), Type: buf.typ.Alias, Name: buf.name, Member: member,
		Offset: b.offset(iteration(b.loops), elements), Shape: buf.shape(),
	}}, nil
}

// allocationShape is the shape of a buffer, with the iterations that have their own
// copy in front.
func (b *builder) allocationShape(buf *buffer) string {
	if len(b.loops) == 0 {
		return buf.shape()
	}
	return b.iterations().String() + " x " + buf.shape()
}

// deallocate ends the use of a buffer; the memory is kept for the next call.
func (b *builder) deallocate(s *hostir.Deallocate) ([]node, error) {
	buf, err := b.operandBuffer(s, s.Tensor)
	if err != nil {
		return nil, err
	}
	return []node{&keepNode{b.source(s), buf.name}}, nil
}

// selectSlice makes a view with one axis fixed, or cut to a part.
func (b *builder) selectSlice(s *hostir.Select) ([]node, error) {
	in, err := b.operandBuffer(s, s.In)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(in.dims, func(d dim) bool { return d.axis == s.Axis })
	if at < 0 && s.In.Axes[s.Axis].Kind == domain.Reduction {
		return b.newView(s, in, s.Out, in.dims, nil) // the axis is not there
	}
	if at < 0 {
		return nil, internalError(s.Pos, s.Op(), "axis %d of %s is not in its buffer", s.Axis, s.In.Name)
	}
	apart := in.dims[at].stride
	dims := slices.Clone(in.dims)
	if s.Parts == 0 {
		dims = slices.Delete(dims, at, at+1)
	} else {
		dims[at].extent = b.scope.local(s.Out.Axes[hostir.Live(s.Out)[at]])
		apart = times(dims[at].extent, apart)
	}
	if !sameShape(s.Out, dims) {
		return nil, internalError(s.Pos, s.Op(), "%s is not what is selected of %s along axis %d", s.Out.Name, s.In.Name, s.Axis)
	}
	return b.newView(s, in, s.Out, dims, step(b.indexOf(s), apart))
}

// step is index times stride; nil when it is zero.
func step(index expr.Expr, stride quantity) expr.Expr {
	if index == expr.Int(0) {
		return nil
	}
	if stride.isOne() {
		return index
	}
	product := index
	for _, factor := range multiplied(stride.expr) {
		product = &expr.Binary{Op: "*", X: product, Y: factor}
	}
	return product
}

// indexOf is the index of a Select, as an expression of C++ names.
func (b *builder) indexOf(s *hostir.Select) expr.Expr {
	return b.withCoordinates(b.meshOf(s.In), b.scope.rename(fold(s.Index)))
}

// offset prints a step; empty when it is zero.
func (b *builder) offset(index expr.Expr, stride quantity) string { return b.text(step(index, stride)) }

// text prints an expression; empty when there is none.
func (b *builder) text(e expr.Expr) string {
	if e == nil {
		return ""
	}
	return b.spell(e)
}

// sum adds two steps.
func sum(x, y expr.Expr) expr.Expr {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	default:
		return &expr.Binary{Op: "+", X: x, Y: y}
	}
}

// broadcast adds an axis of one element, which takes no memory.
func (b *builder) broadcast(s *hostir.Broadcast) ([]node, error) {
	in, err := b.operandBuffer(s, s.In)
	if err != nil {
		return nil, err
	}
	if s.Axis < 0 || s.Axis > len(in.dims) {
		return nil, internalError(s.Pos, s.Op(), "%s has no place for axis %d", s.In.Name, s.Axis)
	}
	dims := slices.Insert(slices.Clone(in.dims), s.Axis, dim{extent: number(1), stride: number(0)})
	return b.viewOrCopy(s, in, s.Out, dims)
}

// reshape gives the same elements another shape: a view where the operand is one run
// of memory in its logical order.
func (b *builder) reshape(s *hostir.Reshape) ([]node, error) {
	in, err := b.operandBuffer(s, s.In)
	if err != nil {
		return nil, err
	}
	if !rowMajor(in.dims) {
		return nil, b.notContiguous(s, s.In, "a reshape")
	}
	shaped := b.newBuffer(&hostir.Tensor{Axes: s.Out.Axes, DType: s.Out.DType}, in.name)
	if shaped.elements().size != in.elements().size {
		return nil, internalError(s.Pos, s.Op(), "%s and %s differ in their number of elements", s.In.Name, s.Out.Name)
	}
	return b.viewOrCopy(s, in, s.Out, shaped.dims)
}

// viewOrCopy makes out a view of in with these axes, or, when out has memory of its
// own, copies into it.
func (b *builder) viewOrCopy(s hostir.Stmt, in *buffer, out *hostir.Tensor, dims []dim) ([]node, error) {
	if own, ok := b.buffers[out]; ok && own.root != in.root {
		return b.copy(s, own, in.as(out, in.name, dims))
	}
	return b.newView(s, in, out, dims, nil)
}

// newView declares a pointer into another buffer.
func (b *builder) newView(s hostir.Stmt, in *buffer, out *hostir.Tensor, dims []dim, offset expr.Expr) ([]node, error) {
	if out.DType != in.tensor.DType {
		return nil, internalError(s.Meta().Pos, s.Op(), "%s and %s differ in type", out.Name, in.tensor.Name)
	}
	name := "" // of a view that is known and not named
	if b.used[out] {
		name = b.variable(out)
	}
	view := in.as(out, name, dims)
	view.at = sum(in.at, offset)
	if known, ok := b.buffers[out]; ok {
		view.input = view.input || known.input
	}
	declares := b.declare(out, view)
	if !b.used[out] {
		return nil, nil
	}
	return []node{&viewNode{
		source: b.source(s), Declares: declares, Const: in.input, Type: view.typ.Alias, Name: view.name,
		Base: in.name, Offset: b.text(offset), Shape: view.shape(),
	}}, nil
}
