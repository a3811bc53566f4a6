package soak

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

func (g *generator) matmul() bool { return g.product("matmul") }

func (g *generator) linear() bool { return g.product("linear") }

// product multiplies a tensor by an existing or a new one, and may add an epilogue of a GEMM. It returns false if the
// tensor has one axis or the result is too large.
func (g *generator) product(fn string) bool {
	a := g.any()
	if len(a.axes) < 2 {
		return false
	}
	shape := a.shape()
	k, n := shape[len(shape)-1], g.extent()
	if product(shape)/k*n > maxElements {
		return false
	}
	var batch []int64
	if len(shape) > 2 && g.chance(0.45) {
		batch = g.batch(shape[:len(shape)-2])
	}
	b := slices.Concat(batch, []int64{k, n})
	if fn == "linear" {
		b = slices.Concat(batch, []int64{n, k})
	}
	weight := g.operand(a, b)
	like := a
	if g.chance(0.1) {
		like, a, weight = a.as(g.spec.DType), g.short(a), g.short(weight)
		defer g.forget()
	}
	op := on(fn, a, weight)
	if a.dtype.Computes() && g.chance(0.08) {
		types := pick(g, "fp8_e4m3", "fp8_e4m3", "[fp8_e5m2, fp8_e4m3]", "[fp8_e4m3, fp8_e5m2]")
		like, op = a.as(g.spec.DType), op.with(word("quantize", types))
	}
	if fn == "linear" && g.chance(0.5) && (a.dtype.Computes() || like.dtype.Size() == 2) {
		op.read(g.inputLike(b[:len(b)-1], like))
	}
	last := weight.axes[len(b)-1]
	if fn == "linear" {
		last = weight.axes[len(b)-2]
	}
	axes := append(slices.Clone(a.axes[:len(a.axes)-1]), last)
	for i, extent := range batch {
		at := len(a.axes) - 2 - len(batch) + i
		if axes[at].Size == 1 && extent > 1 {
			axes[at] = weight.axes[i]
		}
	}
	if total := product(domain.Shape(axes)); total > maxElements {
		g.drop(op)
		return false
	}
	out := g.addWide(op, g.sound(axes), like)
	g.listReduced(out, reduced(domain.Extent{Size: k}), len(axes))
	if g.chance(0.2) {
		g.add(on(pick(g, domain.FunctionNames(func(f domain.Function) bool { return f.Epilogue != "" })...), out),
			out.axes, out)

	}
	return true
}

// short casts a tensor to an 8-bit type.
func (g *generator) short(v *value) *value {
	to := pick(g, domain.FP8E4M3, domain.FP8E4M3, domain.FP8E5M2)
	return g.add(castTo(v, to), v.axes, v.as(to))
}

// quantized quantizes a tensor by rows or blocks of rows, and dequantizes it.
func (g *generator) quantized() bool {
	v := g.any()
	if len(v.axes) < 2 {
		return false
	}
	g.quantize(v, false)
	g.forget()
	return true
}

// shortProduct multiplies 8-bit inputs, with the K extents that cuBLASLt needs, and reads the result.
func (g *generator) shortProduct() {
	m, k := g.mesh(), pick[int64](g, 16, 32, 48)
	x := g.inputOf([]int64{pick[int64](g, 2, 4, 6, 8), k}, domain.FP8E4M3, m)
	w := g.inputOf([]int64{pick[int64](g, 3, 4, 8, 16), k}, pick(g, domain.FP8E4M3, domain.FP8E5M2), m)
	out := g.addWide(on("linear", x, w), []domain.Axis{x.axes[0], serialAxis(w.axes[0].Size)}, x.as(g.spec.DType))
	g.forget()
	if g.chance(0.3) {
		out = g.scaledProduct(m)
	}
	g.focused(out, 1+g.IntN(2), (*generator).binary, (*generator).unary, (*generator).set, (*generator).reduce)
}

// scaledProduct multiplies 8-bit inputs that have a scale for each block, or inputs that the linear quantizes in
// blocks. Sometimes the rows have batches. Mostly the weights then have the same batches, and otherwise all batches share
// the weights.
func (g *generator) scaledProduct(m Mesh) *value {
	const block = domain.BlockRow
	rows, blocks := pick[int64](g, 2, 4, 6, 8), pick[int64](g, 1, 2, 3)
	var batches, ofWeights []int64 // leading axes of the rows, and of the weights
	if g.chance(0.4) {
		batches = []int64{pick[int64](g, 2, 3, 4)}
		if g.chance(0.7) {
			ofWeights = batches
		}
	}
	operand := func(in []int64, rows, lines int64) (q, s *value) {
		return g.inputOf(append(slices.Clone(in), rows, blocks*block), domain.FP8E4M3, m),
			g.inputOf(append(slices.Clone(in), lines, blocks), domain.FP32, m)
	}
	var op Op
	var x *value
	if g.chance(0.5) {
		x = g.inputOf(append(slices.Clone(batches), rows, blocks*block), g.spec.DType, m)
		w := g.inputOf(append(slices.Clone(ofWeights), block, blocks*block), g.spec.DType, m)
		op = on("linear", x, w).with(word("quantize", string(domain.FP8E4M3))).with(number("block", block))
	} else {
		q, s := operand(batches, rows, rows)
		w, t := operand(ofWeights, block, 1)
		op, x = on("scaled_linear", q, s, w, t), q
	}
	out := g.addWide(op, append(slices.Clone(x.axes[:len(x.axes)-1]), serialAxis(block)), x.as(g.spec.DType))
	g.forget()
	return out
}

// drop removes inputs that were made for an operation that was not added. It keeps the operation's first operand.
func (g *generator) drop(op Op) {
	read := map[string]bool{}
	for _, o := range g.spec.Ops {
		lists.Mark(read, append(o.Results(), o.In...))
	}
	unread := func(name string) bool { return slices.Contains(op.In, name) && !read[name] }
	keep := len(g.known) > 1
	g.known = slices.DeleteFunc(g.known, func(v *value) bool { return keep && v.name != op.In[0] && unread(v.name) })
	g.spec.Tensors = slices.DeleteFunc(g.spec.Tensors, func(t Tensor) bool { return t.Name != op.In[0] && unread(t.Name) })
}

// batch makes the batch axes of a second operand from the batch axes of the first. It may drop leading axes, and may give axes other
// extents so that one operand is broadcast along them.
func (g *generator) batch(first []int64) []int64 {
	batch := slices.Clone(first)
	if g.chance(0.3) {
		batch = batch[g.IntN(len(batch)):]
	}
	for i := range batch {
		switch {
		case g.chance(0.15):
			batch[i] = 1
		case batch[i] == 1 && g.chance(0.4):
			batch[i] = g.extent()
		}
	}
	return batch
}

// operand returns a tensor of a shape: an existing one or a new input.
func (g *generator) operand(a *value, shape []int64) *value {
	for range 3 {
		if b := g.any(); b.dtype == a.dtype && slices.Equal(b.shape(), shape) {
			return b
		}
	}
	return g.inputLike(shape, a)
}

// splitContraction multiplies over an axis that is split over ranks, mostly in both operands, otherwise in the first. A
// reshape makes this axis from an axis such as DIDx and a local axis, whose extent may be 1.
func (g *generator) splitContraction() bool {
	m := g.mesh()
	if len(m.Axes) == 0 {
		return false
	}
	axis := pick(g, m.Axes...)
	part := pick[int64](g, 1, 2, 3)
	device := axis.device()
	rows := g.shape(1 + g.IntN(2))
	x := g.inputOf(append(slices.Clone(rows), axis.Size, part), g.spec.DType, m)
	w := g.inputOf([]int64{g.extent(), axis.Size, part}, g.spec.DType, m)
	for n, v := range []*value{x, w} {
		if n == 1 && g.chance(0.15) {
			continue // only one operand is split
		}
		for i := range v.axes {
			v.axes[i] = serialAxis(v.axes[i].Size)
		}
		v.axes[len(v.axes)-2] = device
		g.redeclare(v, v.axes)
	}
	xk, wk := g.merged(x), g.merged(w)
	axes := append(slices.Clone(x.axes[:len(rows)]), w.axes[0])
	out := g.addWide(on("linear", xk, wk), axes, xk)
	g.listReduced(out, reduced(domain.Extent{Size: axis.Size * part}), len(axes))
	return true
}

// merged merges the last two axes of a tensor.
func (g *generator) merged(v *value) *value {
	n := len(v.axes)
	axes := append(slices.Clone(v.axes[:n-2]), serialAxis(v.axes[n-2].Size*v.axes[n-1].Size))
	return g.result(on("reshape", v).with(shaped(domain.Shape(axes))), axes,
		v)

}

// reshape splits and merges axes, and adds and drops axes of extent 1.
func (g *generator) reshape() bool {
	v := g.any()
	shape := slices.Clone(v.shape())
	for range 1 + g.IntN(2) {
		at := g.IntN(len(shape))
		switch {
		case g.chance(0.4) && len(shape) > 1:
			at = min(at, len(shape)-2)
			shape[at] *= shape[at+1]
			shape = slices.Delete(shape, at+1, at+2)
		case len(shape) < maxAxes:
			by := g.extent()
			if shape[at]%by != 0 {
				by = 1
			}
			shape[at] /= by
			shape = slices.Insert(shape, at, by)
		}
	}
	axes := make([]domain.Axis, len(shape))
	for i, extent := range shape {
		axes[i] = serialAxis(extent)
		if i < len(v.axes) && v.axes[i].Size == extent {
			axes[i] = v.axes[i]
		}
	}
	op := on("reshape", v)
	if g.chance(0.2) {
		out := g.result(op, g.sound(axes), v)
		g.declare(out, g.annotation(out))
		return true
	}
	op.Attrs = []Attr{shaped(shape)}
	g.add(op, g.sound(axes), v)
	return true
}

// pipeline adds an operation over ranks that runs in shards. In a gather, a split axis becomes a Stream axis. In a sum
// of partial sums, each rank gets a shard of the result.
func (g *generator) pipeline() bool {
	m := g.mesh()
	if len(m.Axes) == 0 {
		return false
	}
	axis := pick(g, m.Axes...)
	device := axis.device()
	stream := domain.Axis{Kind: domain.Stream, Extent: domain.Extent{Size: axis.Size}}
	rest := g.shape(1 + g.IntN(2))
	plain := serialAxes(nil, rest...)
	if g.chance(0.5) { // a gather
		a := g.laid(append([]domain.Axis{device}, plain...), m)
		out := append([]domain.Axis{stream}, plain...)
		if len(rest) > 1 && g.chance(0.6) {
			n := g.extent()
			b := g.inputLike([]int64{rest[len(rest)-1], n}, a)
			out[len(out)-1] = serialAxis(n)
			g.laidResult(on("matmul", a, b), out, a)
			return true
		}
		g.laidResult(on("set", a), out, a)
		return true
	}
	a := g.laid(append([]domain.Axis{device, serialAxis(axis.Size)}, plain...), m)
	v := a
	if g.chance(0.5) {
		v = g.laidResult(on(pick(g, "neg", "relu"), a), append([]domain.Axis{device, stream}, plain...), a)
	}
	sum := on("sum", v).with(number("axis", 0))
	out := g.laidResult(sum, append([]domain.Axis{device}, plain...), v)
	g.listReduced(out, reduced(device.Extent), 0)
	if g.chance(0.4) {
		g.laidResult(on("set", out), append([]domain.Axis{stream}, plain...), out)
	}
	return true
}

// laid makes an input with the given axes.
func (g *generator) laid(axes []domain.Axis, m Mesh) *value {
	v := g.inputOf(domain.Shape(axes), g.spec.DType, m)
	g.redeclare(v, axes)
	return v
}

// laidResult adds a declared result with the given axes.
func (g *generator) laidResult(op Op, axes []domain.Axis, like *value) *value {
	v := g.result(op, axes, like)
	g.declare(v, axes)
	return v
}
