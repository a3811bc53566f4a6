package grad

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// matmul computes dA = dC B^T and dB = A^T dC, for C = A B.
func matmul(u use) {
	g := u.asFactor()
	if u.wants(0) {
		g = u.ofBatches(g)
		u.ofRows(u.like(times("linear", g, u.in(1)), 0, g, 0))
	}
	if u.wants(1) {
		u.weights(g, u.in(0), false)
	}
}

// linear computes dX = dY W, dW = dY^T X, and dbias, the sum of dY over rows, for Y = X W^T + bias.
func linear(u use) {
	g := u.asFactor()
	if u.wants(0) {
		g = u.ofBatches(g)
		u.ofRows(u.like(times("matmul", g, u.in(1)), 0, g, 0))
	}
	if u.wants(1) {
		u.weights(g, u.in(0), true)
	}
	if len(u.In) > 2 && u.wants(2) {
		u.bias(g)
	}
}

// like returns the GEMM r with the attributes quantize and block of the forward operation, if that has them. r computes
// the gradient with respect to an operand of the forward operation. first is the first operand of r, and the gradient of
// the forward result is its operand with the index at. like reports an error if blocks do not divide the summed axis or the
// columns of r.
func (u use) like(r result, operand int, first value, at int) result {
	attr, block := u.Attr("quantize"), u.Attr("block")
	if attr == nil {
		return r
	}
	types := u.quantizedTypes(operand, at, attr.Values)
	if types[0] == types[1] {
		r = r.with("quantize=" + types[0])
	} else {
		r = r.with("quantize=[" + types[0] + ", " + types[1] + "]")
	}
	if block == nil {
		return r
	}
	for _, extent := range []domain.Extent{first.axes[len(first.axes)-1].Extent, r.axes[len(r.axes)-1].Extent} {
		if extent.Size%domain.BlockRow != 0 {
			u.errors.Add(u.Pos, diag.NoGradient, "the gradient of %s is a GEMM along %d elements, which blocks of %d do not divide",
				u.In[operand].Name, extent.Size, domain.BlockRow).
				WithHint("leave out block=%s, or make %[2]d divide the rows of all operands", block.Values[0], domain.BlockRow)
			break
		}
	}
	return r.with("block=" + block.Values[0])
}

// quantizedTypes returns the types of both operands of the GEMM that computes the gradient with respect to an operand.
// Operand at of the GEMM is the gradient of the result. Its other operand comes from the forward GEMM, and has the type
// that the forward GEMM quantizes it to. If that is fp8_e5m2, the gradient is fp8_e4m3, because cuBLASLt has no GEMM of two
// operands in fp8_e5m2.
func (u use) quantizedTypes(operand, at int, forward []string) (types [2]string) {
	gradient := forward[0]
	if u.options.Gradients != "" {
		gradient = string(u.options.Gradients)
	}
	types[at], types[1-at] = gradient, forward[min(1-operand, len(forward)-1)]
	if types[1-at] == string(domain.FP8E5M2) {
		types[at] = string(domain.FP8E4M3)
	}
	return types
}

// ofRows adds the gradient with respect to the first operand. If the forward GEMM runs in slices of its rows, ofRows
// declares the gradient with the same Stream axis, unless its type or axes differ.
func (u use) ofRows(r result) {
	along := u.operandAxes(0)
	if r.dtype == u.In[0].DType && alike(r.axes, along) && isStream(along) && u.wants(0) {
		v := u.named(u.partName(u.In[0], r, along), r)
		rows := *u.In[0]
		rows.Name, rows.Axes, rows.Mesh = v.name, along, u.Out[0].Mesh
		u.declared[v.name] = &rows
	}
	u.give(0, r, along)
}

// isStream reports whether the axes have a Stream axis and the last axis is serial.
func isStream(axes []domain.Axis) bool {
	last := axes[len(axes)-1]
	return last.Kind == domain.Serial && slices.ContainsFunc(axes, func(a domain.Axis) bool { return a.Kind == domain.Stream })
}

// asFactor returns a gradient as an operand of GEMMs: in the element type of the first operand, with rows and
// columns.
func (u use) asFactor() value {
	v, out := u.typed(u.dy[0], u.In[0].DType), u.along()
	if last := len(v.axes) - 1; last < 0 || stretchesTo(v.axes[last], out[len(out)-1]) {
		v = u.full(v, u.Out[0])
	}
	return u.ranked(v, 2)
}

// ofBatches returns a gradient with all elements along the batches to which the first operand was stretched.
func (u use) ofBatches(g value) value {
	along, x := u.operandAxes(0), u.In[0]
	if len(u.summed(part{value: value{axes: along}, along: along}, x)) > len(u.summed(part{value: g, along: along}, x)) {
		return u.full(g, u.Out[0])
	}
	return g
}

// times returns a GEMM, matmul or linear, whose batch axes of one element stretch.
func times(fn string, x, w value) result {
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
func (u use) operandAxes(operand int) []domain.Axis {
	out, x := u.along(), u.axes(u.In[operand])
	return append(slices.Clone(out[:len(out)-1]), x[len(x)-1])
}

// bias adds the gradient of a bias: dY summed over rows, for each batch of the bias.
func (u use) bias(g value) {
	along := u.along()
	g = u.full(g, u.Out[0])
	if len(u.axes(u.In[2])) == 1 {
		u.flow(2, g, along)
		return
	}
	n := len(along)
	u.give(2, summed(g, n-2), slices.Delete(along, n-2, n-1))
}

// weights adds the gradient with respect to the second operand: A^T dC or, if transposed is set, dY^T X. It is a sum
// over all rows, and over the batches that contraction.summed selects. These batches become rows of one GEMM if
// possible.
func (u use) weights(g, x value, transposed bool) {
	out, w := u.along(), u.axes(u.In[1])
	c := &contraction{b: u.backward, out: out, batches: len(out) - 2, w: len(w) - 2, weight: w}
	if !c.hasRows(g) {
		g = u.full(g, u.Out[0])
	}
	left, right := x, g
	if transposed {
		left, right = g, x
	}
	merged := c.merged(left, right)
	l, r := c.prepare(left, right, merged, true), c.prepare(right, left, merged, false)
	gradient := 1
	if transposed {
		gradient = 0
	}
	product := u.like(times("matmul", l, r), 1, l, gradient)
	along, want := c.axes(merged, left, right)
	matrix := product.axes[len(product.axes)-2:]
	along, want = append(along, matrix...), append(want, matrix...)
	if alike(product.axes, want) {
		u.give(1, product, along)
		return
	}
	v := u.named("d"+u.In[1].Name+"_rows", product)
	u.give(1, fitted(v, want), along)
}
