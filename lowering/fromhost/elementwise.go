package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// maxAxes is hirgen::kMaxAxes: the largest number of axes in a kernel's strided view.
const maxAxes = 8

// elementwise returns the memory of the result and of the operands of a statement, in this order, and the walk over
// them.
func (b *builder) elementwise(s hostir.Stmt) ([]*buffer, walk) {
	tensors := append([]*hostir.Tensor{hostir.Result(s)}, hostir.Uses(s)...)
	buffers := b.operandBuffers(s, tensors...)
	w := newWalk(buffers[0], hostir.AxisMap(s), buffers[1:])
	b.check(s, w)
	return buffers, w
}

// check refuses a walk with more axes than the kernels of the runtime support.
func (b *builder) check(s hostir.Stmt, w walk) {
	if len(w.extents) > maxAxes {
		refuse(errorAt(s.Meta().Pos, "%s has more than %d axes that are not next to each other in memory",
			hostir.Called(b.program, s, hostir.Result(s)), maxAxes))
	}
}

// copyLike lowers a Set or a Cast.
func (b *builder) copyLike(s hostir.Stmt) []calls.Stmt {
	buffers, w := b.elementwise(s)
	return b.copied(s, w, buffers[0], buffers[1])
}

// copy copies in to out. The axes of both correspond one to one.
func (b *builder) copy(s hostir.Stmt, out, in *buffer) []calls.Stmt {
	axes := make([]int, 0, len(out.tensor.Axes))
	for i := range out.tensor.Axes {
		axes = append(axes, i)
	}
	w := newWalk(out, [][]int{axes}, []*buffer{in})
	b.check(s, w)
	return b.copied(s, w, out, in)
}

// copied copies along a walk: with cudaMemcpyAsync if the elements are contiguous and of one type, otherwise with a
// kernel.
func (b *builder) copied(s hostir.Stmt, w walk, out, in *buffer) []calls.Stmt {
	if !w.dense() || out.typ != in.typ {
		return b.launch(s, "unary", "copy", w, []*buffer{out, in})
	}
	return []calls.Stmt{&calls.Memcpy{
		Info: b.computed(s, ""), Out: b.pointer(out), In: b.pointer(in), Elements: w.extents[0].Expr, Type: out.typ, On: b.current,
	}}
}

// launch launches a kernel along a walk of a result and its operands.
func (b *builder) launch(s hostir.Stmt, kernel, fn string, w walk, buffers []*buffer) []calls.Stmt {
	call := &calls.Launch{
		Info: b.computed(s, ""), Kernel: kernel, Fn: fn, Out: b.operand(w, 0, buffers[0]), OutType: buffers[0].typ,
		InType: buffers[1].typ, Elements: w.elements(), On: b.current,
	}
	for i, u := range buffers[1:] {
		call.In = append(call.In, b.operand(w, i+1, u))
	}
	return []calls.Stmt{call}
}

// unary applies a function to every element of a tensor.
func (b *builder) unary(s *hostir.Unary) []calls.Stmt {
	if domain.UnaryFn(s.Fn) == nil {
		refuse(errorAt(s.Pos, "there is no kernel for the function %q", s.Fn))
	}
	buffers, w := b.elementwise(s)
	return b.launch(s, "unary", s.Fn, w, buffers)
}

// binary applies a function to the elements of two operands.
func (b *builder) binary(s *hostir.Binary) []calls.Stmt {
	if f := domain.FunctionOf(s.Fn); f.Binary == nil || f.Constant {
		refuse(errorAt(s.Pos, "there is no kernel for the function %q", s.Fn))
	}
	if s.A.DType != s.B.DType {
		refuse(errorAt(s.Pos, "%s is %s and %s is %s: cast one of them",
			hostir.Called(b.program, s, s.A), s.A.DType, hostir.Called(b.program, s, s.B), s.B.DType))
	}
	buffers, w := b.elementwise(s)
	return b.launch(s, "binary", s.Fn, w, buffers)
}

// gather launches the kernel that copies rows of a table. Its views have an additional first axis: in the table, this
// axis counts the rows, and in the result and the other operands, it has one element.
func (b *builder) gather(s *hostir.Gather) []calls.Stmt {
	buffers, w := b.elementwise(s)
	table := buffers[1]
	at := slices.IndexFunc(table.dims, func(d dim) bool { return d.axis == s.Axis })
	rows := walk{[]extents.Quantity{extents.Number(1)}, slices.Repeat([][]extents.Quantity{{extents.Number(0)}}, len(buffers))}
	rows.strides[1] = []extents.Quantity{table.dims[at].stride}
	w = rows.then(w)
	b.check(s, w)
	list := b.launch(s, "gather", string(s.IDs.DType), w, buffers)
	if call, ok := list[0].(*calls.Launch); ok {
		call.In[0].Extents[0] = table.dims[at].extent.Expr
	}
	return list
}

// reduce lowers the reduction of one axis. In the kernel's view of the result, that axis has extent 1. The axes before
// it and after it are merged where possible.
func (b *builder) reduce(s *hostir.Reduce) []calls.Stmt {
	if domain.FoldOf(s.Fn).Fn == "" {
		refuse(errorAt(s.Pos, "there is no kernel for the reduction %q", s.Fn))
	}
	buffers := b.operandBuffers(s, s.Out, s.In)
	out, in := buffers[0], buffers[1]
	axis := slices.IndexFunc(in.dims, func(d dim) bool { return d.axis == s.Axis })
	if axis < 0 || len(in.dims) != len(out.dims)+1 || len(in.dims) > maxAxes {
		refuse(internalError(s, "%s is not %s without axis %d", s.Out.Name, s.In.Name, s.Axis))
	}
	before := along(out.dims[:axis], in.dims[:axis])
	after := along(out.dims[axis:], in.dims[axis+1:])
	folded := walk{[]extents.Quantity{extents.Number(1)}, [][]extents.Quantity{{extents.Number(0)}, {in.dims[axis].stride}}}
	w := before.then(folded).then(after)
	at := len(before.extents)
	call := &calls.Launch{
		Info: b.computed(s, ""), Kernel: "reduce", Fn: s.Fn, Axis: int64(at), OutType: out.typ, InType: in.typ, On: b.current,
		Out: calls.Operand{At: b.pointer(out), Extents: exprs(w.extents), Strides: exprs(w.strides[0])},
		In:  []calls.Operand{{At: b.pointer(in), Extents: exprs(w.extents), Strides: exprs(w.strides[1])}},
	}
	call.In[0].Extents[at] = in.dims[axis].extent.Expr
	return []calls.Stmt{call}
}
