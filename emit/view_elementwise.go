package emit

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// maxAxes is hirgen::kMaxAxes: what a strided view of the kernels holds.
const maxAxes = 8

// A walk is the operands of one kernel, aligned: every operand has a stride for each
// axis of the result, 0 where it is broadcast.
type walk struct {
	extents []quantity
	strides [][]quantity // by operand, then axis
}

// newWalk aligns operands with the result's axes as AxisMap does, then merges axes
// that every operand steps through in one run, so that most walks have one axis.
func newWalk(out *buffer, maps [][]int, in []*buffer) walk {
	w := walk{strides: make([][]quantity, 1+len(in))}
	for _, d := range out.dims {
		w.extents = append(w.extents, d.extent)
		w.strides[0] = append(w.strides[0], d.stride)
		for i, operand := range in {
			w.strides[i+1] = append(w.strides[i+1], strideAlong(operand, maps[i], d))
		}
	}
	return w.merged()
}

// strideAlong is the stride of an operand along an axis of the result.
func strideAlong(operand *buffer, axes []int, out dim) quantity {
	for _, d := range operand.dims {
		if axes[d.axis] == out.axis && d.extent.size == out.extent.size {
			return d.stride
		}
	}
	return number(0)
}

// merged is the walk along as few axes as strides allow, at least one.
func (w walk) merged() walk {
	m := w.joined()
	if len(m.extents) == 0 {
		m.extents = []quantity{number(1)}
		for v := range m.strides {
			m.strides[v] = []quantity{number(1)}
		}
	}
	return m
}

// joined drops axes of one element and joins an axis to the one inside it where all
// strides allow it.
func (w walk) joined() walk {
	m := walk{strides: make([][]quantity, len(w.strides))}
	for i, extent := range w.extents {
		if extent.isOne() {
			continue
		}
		last := len(m.extents) - 1
		if last >= 0 && w.continues(m, i) {
			m.extents[last] = times(m.extents[last], extent)
			for v := range m.strides {
				m.strides[v][last] = w.strides[v][i]
			}
			continue
		}
		m.extents = append(m.extents, extent)
		for v := range m.strides {
			m.strides[v] = append(m.strides[v], w.strides[v][i])
		}
	}
	return m
}

// continues reports whether axis i of w runs on inside the last axis of m.
func (w walk) continues(m walk, i int) bool {
	last := len(m.extents) - 1
	for v := range m.strides {
		if m.strides[v][last].size != mustMultiply(w.extents[i].size, w.strides[v][i].size) {
			return false
		}
	}
	return true
}

// dense reports whether every operand is one run of memory in the same order.
func (w walk) dense() bool {
	return len(w.extents) == 1 && !slices.ContainsFunc(w.strides, func(s []quantity) bool { return !s[0].isOne() })
}

// operand is view v of the walk, as a kernel takes it.
func (w walk) operand(v int, u *buffer) operand {
	return operand{u.name, texts(w.extents), texts(w.strides[v])}
}

// elements is their number where every operand is one run; empty where one is not.
func (w walk) elements() string {
	if !w.dense() {
		return ""
	}
	return w.extents[0].String()
}

func texts(list []quantity) []string {
	out := make([]string, len(list))
	for i, q := range list {
		out[i] = q.String()
	}
	return out
}

// elementwise finds the operands of a kernel and aligns them.
func (b *builder) elementwise(s hostir.Stmt) ([]*buffer, walk, error) {
	tensors := append([]*hostir.Tensor{hostir.Result(s)}, hostir.Uses(s)...)
	buffers, err := b.operandBuffers(s, tensors...)
	if err != nil {
		return nil, walk{}, err
	}
	w := newWalk(buffers[0], hostir.AxisMap(s), buffers[1:])
	b.kernels = true
	return buffers, w, b.check(s, w)
}

// check refuses a walk of a statement along more axes than the kernels take.
func (b *builder) check(s hostir.Stmt, w walk) error {
	if len(w.extents) <= maxAxes {
		return nil
	}
	return errorAt(s.Meta().Pos, "%s has more than %d axes that are not next to each other in memory",
		hostir.Called(b.program, s, hostir.Result(s)), maxAxes)
}

// computed locates a statement by what it computes: "Binary of Y".
func (b *builder) computed(s hostir.Stmt) source {
	out := hostir.Result(s).Name
	return b.located(s, s.Op()+"_"+out, s.Op()+" of "+out)
}

// set copies on one rank.
func (b *builder) set(s *hostir.Set) ([]node, error) { return b.copyLike(s) }

// permute gives the axes another order: a view, or, when the result has memory of its own,
// a copy.
func (b *builder) permute(s *hostir.Permute) ([]node, error) {
	in, err := b.operandBuffer(s, s.In)
	if err != nil {
		return nil, err
	}
	dims := make([]dim, len(s.Perm))
	for i, axis := range s.Perm {
		if axis < 0 || axis >= len(in.dims) {
			return nil, internalError(s.Pos, s.Op(), "%s has no axis %d", s.In.Name, axis)
		}
		dims[i] = in.dims[axis]
	}
	return b.viewOrCopy(s, in, s.Out, dims)
}

// cast copies into another type.
func (b *builder) cast(s *hostir.Cast) ([]node, error) { return b.copyLike(s) }

// copyLike prints a statement whose result has the elements of its operand.
func (b *builder) copyLike(s hostir.Stmt) ([]node, error) {
	kernels := b.kernels
	buffers, w, err := b.elementwise(s)
	if err != nil {
		return nil, err
	}
	out, in := buffers[0], buffers[1]
	if w.dense() && out.typ == in.typ {
		b.kernels = kernels
		return []node{&copyNode{b.computed(s), out.name, in.name, w.extents[0].String(), out.typ.Alias}}, nil
	}
	return []node{&unaryNode{b.computed(s), copyFn, w.operand(0, out), w.operand(1, in), w.elements()}}, nil
}

// copy copies in to out, whose axes correspond one to one.
func (b *builder) copy(s hostir.Stmt, out, in *buffer) ([]node, error) {
	axes := make([]int, 0, len(out.tensor.Axes))
	for i := range out.tensor.Axes {
		axes = append(axes, i)
	}
	w := newWalk(out, [][]int{axes}, []*buffer{in})
	if w.dense() {
		return []node{&copyNode{b.computed(s), out.name, in.name, w.extents[0].String(), out.typ.Alias}}, nil
	}
	b.kernels = true
	return []node{&unaryNode{b.computed(s), copyFn, w.operand(0, out), w.operand(1, in), w.elements()}}, b.check(s, w)
}

// unary applies a function to every element.
func (b *builder) unary(s *hostir.Unary) ([]node, error) {
	fn, ok := unaryFn(s.Fn)
	if !ok {
		return nil, errorAt(s.Pos, "there is no kernel for the function %q", s.Fn)
	}
	buffers, w, err := b.elementwise(s)
	if err != nil {
		return nil, err
	}
	return []node{&unaryNode{b.computed(s), fn, w.operand(0, buffers[0]), w.operand(1, buffers[1]), w.elements()}}, nil
}

// binary applies a function to two operands.
func (b *builder) binary(s *hostir.Binary) ([]node, error) {
	fn, ok := binaryFns[s.Fn]
	if !ok {
		return nil, errorAt(s.Pos, "there is no kernel for the function %q", s.Fn)
	}
	if s.A.DType != s.B.DType {
		return nil, errorAt(s.Pos, "%s is %s and %s is %s: cast one of them",
			hostir.Called(b.program, s, s.A), s.A.DType, hostir.Called(b.program, s, s.B), s.B.DType)
	}
	buffers, w, err := b.elementwise(s)
	if err != nil {
		return nil, err
	}
	return []node{&binaryNode{
		b.computed(s), fn, w.operand(0, buffers[0]), w.operand(1, buffers[1]), w.operand(2, buffers[2]),
		w.elements(),
	}}, nil
}

// reduce folds one axis, which the kernel wants as an axis of extent 1 in the result. Those around
// it are joined.
func (b *builder) reduce(s *hostir.Reduce) ([]node, error) {
	fn, ok := reduceFns[s.Fn]
	if !ok {
		return nil, errorAt(s.Pos, "there is no kernel for the reduction %q", s.Fn)
	}
	buffers, err := b.operandBuffers(s, s.Out, s.In)
	if err != nil {
		return nil, err
	}
	out, in := buffers[0], buffers[1]
	axis := slices.IndexFunc(in.dims, func(d dim) bool { return d.axis == s.Axis })
	if axis < 0 || len(in.dims) != len(out.dims)+1 || len(in.dims) > maxAxes {
		return nil, internalError(s.Pos, s.Op(), "%s is not %s without axis %d", s.Out.Name, s.In.Name, s.Axis)
	}
	b.kernels = true
	before := along(out.dims[:axis], in.dims[:axis])
	after := along(out.dims[axis:], in.dims[axis+1:])
	folded := walk{[]quantity{number(1)}, [][]quantity{{number(0)}, {in.dims[axis].stride}}}
	w := before.then(folded).then(after)
	result, operand := w.operand(0, out), w.operand(1, in)
	at := len(before.extents)
	operand.Extents[at] = in.dims[axis].extent.String()
	return []node{&reduceNode{b.computed(s), fn, at, result, operand}}, nil
}

// along walks two buffers along axes of equal extents.
func along(out, in []dim) walk {
	w := walk{strides: make([][]quantity, 2)}
	for i := range out {
		w.extents = append(w.extents, out[i].extent)
		w.strides[0] = append(w.strides[0], out[i].stride)
		w.strides[1] = append(w.strides[1], in[i].stride)
	}
	return w.joined()
}

// then walks along the axes of w, and inside of them along those of inner.
func (w walk) then(inner walk) walk {
	both := walk{slices.Concat(w.extents, inner.extents), make([][]quantity, len(w.strides))}
	for v := range both.strides {
		both.strides[v] = slices.Concat(w.strides[v], inner.strides[v])
	}
	return both
}
