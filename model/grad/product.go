package grad

import (
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// matmul, C = A B: dA = dC B^T, dB = A^T dC.
func matmul(b *backward, op *model.WrittenOp, dy []value) {
	g := b.asFactor(dy[0], op)
	if b.wants(op, 0) {
		g = b.ofBatches(g, op)
		b.ofRows(op, b.times("linear", g, b.forward(op.In[1])))
	}
	if b.wants(op, 1) {
		b.weights(op, g, b.forward(op.In[0]), false)
	}
}

// linear, Y = X W^T + bias: dX = dY W, dW = dY^T X, dbias = dY summed over rows.
func linear(b *backward, op *model.WrittenOp, dy []value) {
	g := b.asFactor(dy[0], op)
	if b.wants(op, 0) {
		g = b.ofBatches(g, op)
		b.ofRows(op, b.times("matmul", g, b.forward(op.In[1])))
	}
	if b.wants(op, 1) {
		b.weights(op, g, b.forward(op.In[0]), true)
	}
	if len(op.In) > 2 && b.wants(op, 2) {
		b.bias(op, g)
	}
}

// ofRows adds the gradient with respect to the first operand. If the forward GEMM ran in slices of its rows, so does
// this one.
func (b *backward) ofRows(op *model.WrittenOp, r result) {
	along := b.operandAxes(op, 0)
	if r.dtype == op.In[0].DType && alike(r.axes, along) && isStream(along) && b.wants(op, 0) {
		v := b.named(b.partName(op, op.In[0], r, along), r)
		rows := *op.In[0]
		rows.Name, rows.Axes, rows.Mesh = v.name, along, op.Out[0].Mesh
		b.declared[v.name] = &rows
	}
	b.give(op, 0, r, along)
}

// isStream reports whether the axes have a Stream axis and the last axis is serial.
func isStream(axes []domain.Axis) bool {
	last := axes[len(axes)-1]
	return last.Kind == domain.Serial && slices.ContainsFunc(axes, func(a domain.Axis) bool { return a.Kind == domain.Stream })
}

// asFactor returns a gradient as an operand of GEMMs: in the element type of the first operand, with rows and
// columns.
func (b *backward) asFactor(dy value, op *model.WrittenOp) value {
	v := b.inTypeOf(dy, b.forwardType(op.In[0]))
	n := len(b.axes(op.Out[0]))
	if last := len(v.axes) - 1; last < 0 || standsFor(v.axes[last], b.axes(op.Out[0])[n-1]) {
		v = b.full(v, op.Out[0])
	}
	return b.ranked(v, 2)
}

// forwardType returns a value with the element type of a tensor, for inTypeOf.
func (b *backward) forwardType(t *model.Tensor) value { return value{dtype: t.DType} }

// ofBatches returns a gradient with all elements along the batches to which the first operand was stretched.
func (b *backward) ofBatches(g value, op *model.WrittenOp) value {
	along, x := b.operandAxes(op, 0), op.In[0]
	if len(b.summed(part{value: value{axes: along}, along: along}, x)) > len(b.summed(part{value: g, along: along}, x)) {
		return b.full(g, op.Out[0])
	}
	return g
}

// times is a GEMM whose batches stretch.
func (b *backward) times(fn string, x, w value) result {
	r := result{fn: fn, args: []string{x.name, w.name}, dtype: x.dtype, mesh: x.mesh}
	m, n := len(x.axes), len(w.axes)
	columns := w.axes[n-1]
	if fn == "linear" {
		columns = w.axes[n-2]
	}
	rows := x.axes[:m-1]
	if n > 2 {
		rows = append(stretch(x.axes[:m-2], w.axes[:n-2]), x.axes[m-2])
	}
	r.axes = append(slices.Clone(rows), columns)
	return r
}

// operandAxes returns the axes of the gradient with respect to an operand of a GEMM: the batches and rows of the
// result, and the operand's last axis.
func (b *backward) operandAxes(op *model.WrittenOp, operand int) []domain.Axis {
	out, x := b.axes(op.Out[0]), b.axes(op.In[operand])
	return append(slices.Clone(out[:len(out)-1]), x[len(x)-1])
}

// bias: the gradient summed over rows, for each batch of the bias.
func (b *backward) bias(op *model.WrittenOp, g value) {
	along := b.axes(op.Out[0])
	g = b.full(g, op.Out[0])
	if len(b.axes(op.In[2])) == 1 {
		b.flow(op, 2, g, along)
		return
	}
	n := len(along)
	r := like("sum", g)
	r.attrs, r.axes = []string{axisAttr(n - 2)}, slices.Delete(slices.Clone(g.axes), n-2, n-1)
	b.give(op, 2, r, slices.Delete(along, n-2, n-1))
}

// weights adds the gradient with respect to the second operand: A^T dC, or dY^T X if that is transposed. It is a sum
// over all rows, and over the batches that the operand lacks. These batches become rows of one GEMM if possible.
func (b *backward) weights(op *model.WrittenOp, g, x value, transposed bool) {
	out, w := b.axes(op.Out[0]), b.axes(op.In[1])
	c := &contraction{b: b, out: out, batches: len(out) - 2, w: len(w) - 2, weight: w}
	if !c.hasRows(g) {
		g = b.full(g, op.Out[0])
	}
	left, right := x, g
	if transposed {
		left, right = g, x
	}
	merged := c.merged(left, right)
	l, r := c.prepare(left, right, merged, true), c.prepare(right, left, merged, false)
	product := b.times("matmul", l, r)
	along, want := c.axes(merged, left, right)
	matrix := product.axes[len(product.axes)-2:]
	along, want = append(along, matrix...), append(want, matrix...)
	if alike(product.axes, want) {
		b.give(op, 1, product, along)
		return
	}
	v := b.named("d"+op.In[1].Name+"_rows", product)
	b.give(op, 1, fitted(v, want), along)
}
