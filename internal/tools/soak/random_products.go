package soak

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

func (g *generator) matmul() bool { return g.product("matmul") }

func (g *generator) linear() bool { return g.product("linear") }

// product multiplies a tensor by an existing or a new one, and may add an epilogue of a GEMM.
func (g *generator) product(fn string) bool {
	a := g.any()
	if len(a.axes) < 2 {
		return false
	}
	shape := a.shape()
	k, n := shape[len(shape)-1], pick(g, g.extents...)
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
	op := Op{Fn: fn, In: []string{a.name, weight.name}}
	if fn == "linear" && g.chance(0.5) {
		op.In = append(op.In, g.inputOf(b[:len(b)-1], a.dtype, a.mesh).name)
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
	out := g.addWide(op, g.sound(axes), a)
	g.listReduced(out, domain.Axis{Kind: domain.Reduction, Extent: domain.Extent{Size: k}}, len(axes))
	if g.chance(0.2) {
		g.add(Op{Fn: pick(g, domain.FunctionNames(func(f domain.Function) bool { return f.Epilogue != "" })...), In: []string{out.name}},
			out.axes, out.dtype, out.mesh)
	}
	return true
}

// drop removes inputs that were made for an operation that was not added.
func (g *generator) drop(op Op) {
	read := map[string]bool{}
	for _, o := range g.spec.Ops {
		for _, name := range append(o.Results(), o.In...) {
			read[name] = true
		}
	}
	unread := func(name string) bool { return slices.Contains(op.In, name) && !read[name] }
	keep := len(g.known) > 1
	g.known = slices.DeleteFunc(g.known, func(v *value) bool { return keep && v.name != op.In[0] && unread(v.name) })
	g.spec.Tensors = slices.DeleteFunc(g.spec.Tensors, func(t Tensor) bool { return t.Name != op.In[0] && unread(t.Name) })
}

// batch makes batch axes of a second operand: the axes of the first operand, or some that broadcast.
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
			batch[i] = pick(g, g.extents...)
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
	return g.inputOf(shape, a.dtype, a.mesh)
}

// splitContraction multiplies over an axis that is split over ranks: a DIDx axis next to a local axis, merged by a
// reshape, or a DIDx axis alone.
func (g *generator) splitContraction() bool {
	m := g.mesh()
	if len(m.Axes) == 0 {
		return false
	}
	axis := pick(g, m.Axes...)
	part := pick[int64](g, 1, 2, 3)
	device := domain.Axis{Kind: domain.Device, Mesh: axis.Name, Extent: domain.Extent{Size: axis.Size}}
	rows := g.shape(1 + g.IntN(2))
	x := g.inputOf(append(slices.Clone(rows), axis.Size, part), g.spec.DType, m)
	w := g.inputOf([]int64{pick(g, g.extents...), axis.Size, part}, g.spec.DType, m)
	for n, v := range []*value{x, w} {
		if n == 1 && g.chance(0.15) {
			continue // only one operand is split
		}
		for i := range v.axes {
			v.axes[i] = serialAxis(v.axes[i].Size)
		}
		v.axes[len(v.axes)-2] = device
		g.spec.Tensors[g.spec.declared(v.name)].Axes = slices.Clone(v.axes)
	}
	xk, wk := g.merged(x), g.merged(w)
	axes := append(slices.Clone(x.axes[:len(rows)]), w.axes[0])
	out := g.addWide(Op{Fn: "linear", In: []string{xk.name, wk.name}}, axes, xk)
	g.listReduced(out, domain.Axis{Kind: domain.Reduction, Extent: domain.Extent{Size: axis.Size * part}}, len(axes))
	return true
}

// merged merges the last two axes of a tensor.
func (g *generator) merged(v *value) *value {
	n := len(v.axes)
	axes := append(slices.Clone(v.axes[:n-2]), serialAxis(v.axes[n-2].Size*v.axes[n-1].Size))
	return g.result(Op{Fn: "reshape", In: []string{v.name}, Attrs: []Attr{{Name: "shape", List: domain.Shape(axes), Sizes: true}}}, axes,
		v.dtype, v.mesh)
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
			by := pick(g, g.extents...)
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
	op := Op{Fn: "reshape", In: []string{v.name}}
	if g.chance(0.2) {
		out := g.result(op, g.sound(axes), v.dtype, v.mesh)
		g.declare(out, g.annotation(out))
		return true
	}
	op.Attrs = []Attr{{Name: "shape", List: shape, Sizes: true}}
	g.add(op, g.sound(axes), v.dtype, v.mesh)
	return true
}

// pipeline adds an operation over ranks that runs in shards: a split axis becomes a Stream axis, or a sum of partial
// sums becomes a shard of each rank.
func (g *generator) pipeline() bool {
	m := g.mesh()
	if len(m.Axes) == 0 {
		return false
	}
	axis := pick(g, m.Axes...)
	device := domain.Axis{Kind: domain.Device, Mesh: axis.Name, Extent: domain.Extent{Size: axis.Size}}
	stream := domain.Axis{Kind: domain.Stream, Extent: domain.Extent{Size: axis.Size}}
	rest := g.shape(1 + g.IntN(2))
	plain := make([]domain.Axis, len(rest))
	for i, extent := range rest {
		plain[i] = serialAxis(extent)
	}
	if g.chance(0.5) { // a gather
		a := g.laid(append([]domain.Axis{device}, plain...), m)
		out := append([]domain.Axis{stream}, plain...)
		if len(rest) > 1 && g.chance(0.6) {
			n := pick(g, g.extents...)
			b := g.inputOf([]int64{rest[len(rest)-1], n}, a.dtype, m)
			out[len(out)-1] = serialAxis(n)
			g.laidResult(Op{Fn: "matmul", In: []string{a.name, b.name}}, out, a, m)
			return true
		}
		g.laidResult(Op{Fn: "set", In: []string{a.name}}, out, a, m)
		return true
	}
	a := g.laid(append([]domain.Axis{device, serialAxis(axis.Size)}, plain...), m)
	v := a
	if g.chance(0.5) {
		v = g.laidResult(Op{Fn: pick(g, "neg", "relu")}, append([]domain.Axis{device, stream}, plain...), a, m, a)
	}
	sum := Op{Fn: "sum", In: []string{v.name}, Attrs: []Attr{{Name: "axis", Value: "0"}}}
	out := g.laidResult(sum, append([]domain.Axis{device}, plain...), v, m)
	g.listReduced(out, domain.Axis{Kind: domain.Reduction, Extent: device.Extent}, 0)
	if g.chance(0.4) {
		g.laidResult(Op{Fn: "set"}, append([]domain.Axis{stream}, plain...), out, m, out)
	}
	return true
}

// laid makes an input with the given axes.
func (g *generator) laid(axes []domain.Axis, m Mesh) *value {
	v := g.inputOf(domain.Shape(axes), g.spec.DType, m)
	v.axes = axes
	g.spec.Tensors[g.spec.declared(v.name)].Axes = slices.Clone(axes)
	return v
}

// laidResult adds a declared result with the given axes. It may have more operands.
func (g *generator) laidResult(op Op, axes []domain.Axis, like *value, m Mesh, in ...*value) *value {
	for _, v := range in {
		op.In = append(op.In, v.name)
	}
	v := g.result(op, axes, like.dtype, m)
	g.declare(v, axes)
	return v
}
