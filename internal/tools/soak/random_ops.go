package soak

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// makers lists functions that add an operation and return true, or return false if none fits. The probability of each
// is proportional to its weight.
var makers = []struct {
	weight int
	make   func(*generator) bool
}{
	{4, (*generator).set},
	{6, (*generator).matmul},
	{5, (*generator).linear},
	{3, (*generator).splitContraction},
	{2, (*generator).broadcast},
	{3, (*generator).permute},
	{4, (*generator).reshape},
	{2, (*generator).cast},
	{2, (*generator).unary},
	{2, (*generator).constant},
	{4, (*generator).binary},
	{5, (*generator).reduce},
	{3, (*generator).pipeline},
	{2, (*generator).composite},
	{3, (*generator).slice},
	{1, (*generator).positions},
	{2, (*generator).concat},
	{2, (*generator).attention},
	{2, (*generator).dropout},
	{1, (*generator).gather},
	{1, (*generator).quantized},
	{1, (*generator).scatterAdd},
	{1, (*generator).topK},
	{1, (*generator).cumsum},
	{1, (*generator).truncated},
}

// operation adds a random operation that fits. It gives up after 20 tries.
func (g *generator) operation() {
	total := 0
	for _, m := range makers {
		total += m.weight
	}
	for range 20 {
		n := g.IntN(total)
		for _, m := range makers {
			if n -= m.weight; n < 0 {
				if m.make(g) {
					return
				}
				break
			}
		}
	}
}

// add adds an operation whose result has these axes and the type and the mesh of like. Mostly it also declares the
// result, with the axes of annotation.
func (g *generator) add(op Op, axes []domain.Axis, like *value) *value {
	v := g.result(op, axes, like)
	if g.chance(0.65) {
		g.declare(v, g.annotation(v))
	}
	return v
}

// on returns an operation on tensors.
func on(fn string, in ...*value) Op {
	op := Op{Fn: fn}
	op.read(in...)
	return op
}

// read adds operands.
func (o *Op) read(in ...*value) {
	for _, v := range in {
		o.In = append(o.In, v.name)
	}
}

// reduced returns the axis of a declared result that its operation reduces.
func reduced(extent domain.Extent) domain.Axis {
	return domain.Axis{Kind: domain.Reduction, Extent: extent}
}

// result adds an operation whose result has these axes and the type and the mesh of like, and is not declared.
func (g *generator) result(op Op, axes []domain.Axis, like *value) *value {
	g.results++
	op.Out = fmt.Sprintf("T%d", g.results)
	g.spec.Ops = append(g.spec.Ops, op)
	v := &value{name: op.Out, axes: slices.Clone(axes), dtype: like.dtype, mesh: like.mesh}
	g.known = append(g.known, v)
	return v
}

// annotation chooses the sharding of a result: as its operands, whole on every rank, or a new one.
func (g *generator) annotation(v *value) []domain.Axis {
	switch {
	case g.chance(0.35):
		v.axes = g.sound(v.axes)
	case g.chance(0.3):
		v.axes = g.placed(v.shape(), v.mesh, 0, 0.2)
	default:
		if g.chance(0.1) {
			v.mesh = g.mesh()
		}
		v.axes = g.placed(v.shape(), v.mesh, 0.6, 0.25)
	}
	return v.axes
}

// sound makes repeated kinds serial: at most one axis is split over each mesh axis, and at most one is a Stream axis.
func (g *generator) sound(axes []domain.Axis) []domain.Axis {
	seen := map[string]bool{}
	for i, a := range axes {
		key := fmt.Sprint(a.Kind, a.Mesh)
		if (a.Kind == domain.Device || a.Kind == domain.Stream) && seen[key] {
			axes[i] = serialAxis(a.Size)
		}
		seen[key] = true
	}
	return axes
}

func serialAxis(extent int64) domain.Axis { return domain.Axis{Extent: domain.Extent{Size: extent}} }

func (g *generator) set() bool {
	v := g.any()
	m := v.mesh
	if g.chance(0.3) {
		m = g.mesh()
	}
	g.laidResult(on("set", v), g.placed(v.shape(), m, 0.5, 0.3), &value{dtype: v.dtype, mesh: m})
	return true
}

// wider chooses the element type of the result of a matmul or a reduction: t, or sometimes fp32.
func (g *generator) wider(t domain.DType) domain.DType {
	if g.chance(0.15) {
		return domain.FP32
	}
	return t
}

// addWide is add for an operation that may have an fp32 result. Such a result must be declared.
func (g *generator) addWide(op Op, axes []domain.Axis, v *value) *value {
	dtype := g.wider(v.dtype)
	if dtype == v.dtype {
		return g.add(op, axes, v)
	}
	out := g.result(op, axes, v.as(dtype))
	g.declare(out, g.annotation(out))
	return out
}

func (g *generator) permute() bool {
	v := g.any()
	perm := g.Perm(len(v.axes))
	g.add(on("permute", v).with(permutation(perm)), lists.Map(perm, func(p int) domain.Axis { return v.axes[p] }), v)
	return true
}

// positions adds the positions along an axis of a tensor.
func (g *generator) positions() bool {
	v := g.any()
	at := g.IntN(len(v.axes))
	g.add(on("positions", v).with(g.axisAttr(at, len(v.axes))), v.axes[at:at+1], v.as(domain.FP32))
	return true
}

// slice takes a part of an axis that is not split over ranks.
func (g *generator) slice() bool {
	v := g.any()
	at := g.IntN(len(v.axes))
	extent := v.axes[at].Size
	if v.axes[at].Kind == domain.Device {
		return false
	}
	start := g.Int64N(extent)
	size := 1 + g.Int64N(extent-start)
	attrs := []Attr{g.axisAttr(at, len(v.axes))}
	if start > 0 || g.chance(0.5) {
		attrs = append(attrs, number("start", start))
	}
	if g.chance(0.5) {
		attrs = append(attrs, number("size", size))
	} else {
		attrs = append(attrs, number("stop", start+size))
	}
	axes := slices.Clone(v.axes)
	axes[at] = serialAxis(size)
	g.addParts(on("slice", v).with(attrs...), axes, at, v)
	return true
}

// concat joins a tensor with others that differ in the extent of one axis, or with itself.
func (g *generator) concat() bool {
	v := g.any()
	at := g.IntN(len(v.axes))
	op, total := on("concat", v).with(g.axisAttr(at, len(v.axes))), v.axes[at].Size
	if v.axes[at].Kind == domain.Device {
		return false
	}
	for range 1 + g.IntN(2) {
		other := v
		if shape := slices.Clone(v.shape()); g.chance(0.8) {
			shape[at] = g.extent()
			if other = g.inputLike(shape, v); other.axes[at].Kind == domain.Device {
				return false
			}
		}
		op.In, total = append(op.In, other.name), total+other.axes[at].Size
	}
	axes := slices.Clone(v.axes)
	axes[at] = serialAxis(total)
	if product(v.shape())/v.shape()[at]*total > maxElements {
		return false
	}
	g.addParts(op, axes, at, v)
	return true
}

// addParts adds an operation whose result is serial along one axis.
func (g *generator) addParts(op Op, axes []domain.Axis, at int, like *value) {
	out := g.result(op, axes, like)
	if g.chance(0.4) {
		g.annotation(out)
		out.axes = slices.Clone(out.axes)
		out.axes[at] = axes[at]
		g.declare(out, out.axes)
	}
}

func (g *generator) broadcast() bool {
	v := g.any()
	if len(v.axes) >= maxAxes {
		return false
	}
	at := g.IntN(len(v.axes) + 1)
	axes := slices.Insert(slices.Clone(v.axes), at, domain.Axis{Kind: domain.Broadcast, Extent: domain.Extent{Size: 1}})
	g.add(on("broadcast", v).with(g.axisAttr(at, len(axes))), axes, v)
	return true
}

// axisAttr writes the number of an axis, sometimes counted from the end.
func (g *generator) axisAttr(at, axes int) Attr {
	if g.chance(0.2) {
		at -= axes
	}
	return number("axis", int64(at))
}

// cast casts a tensor. Sometimes it first casts to an 8-bit type, with set, permute or broadcast between the two casts.
func (g *generator) cast() bool {
	v, first := g.any(), len(g.known)
	cast := func(types ...domain.DType) {
		to := pick(g, types...)
		v = g.add(on("cast", v).with(word("dtype", string(to))), v.axes, v.as(to))
	}
	if g.chance(0.3) {
		cast(domain.FP8E4M3, domain.FP8E5M2)
		known := g.known
		for g.known = known[first:]; g.chance(0.5); {
			pick(g, g.set, g.permute, g.broadcast)()
		}
		v, g.known = g.any(), append(known[:first:first], g.known...)
	}
	cast(domain.DTypes...)
	g.forget()
	return true
}

func (g *generator) unary() bool {
	v := g.any()
	fn := pick(g, "neg", "relu", "relu", "neg")
	if g.chance(0.4) {
		fn = pick(g, model.UnaryFns...)
	}
	g.add(on(fn, v), v.axes, v)
	return true
}

func (g *generator) constant() bool {
	v := g.any()
	by := pick(g, "2", "-1", "3", "0.5", "1e-3", "16", "-0.25", "1/(2*3)", "sqrt(2)")
	if g.chance(0.2) {
		g.add(on("clamp", v).with(word("max", by), word("min", pick(g, "-1", "-0.5", "1"))), v.axes, v)
		return true
	}
	g.add(on(pick(g, model.ConstantFns...), v).with(word("by", by)), v.axes, v)
	return true
}

// binary combines a tensor with itself, with another tensor that fits, or with a new tensor, which may be broadcast.
func (g *generator) binary() bool {
	a := g.any()
	fn := pick(g, "add", "add", "sub", "mul", "max", "min")
	if g.chance(0.2) {
		fn = pick(g, "div", "ge", "gt", "eq", "keep", "drop", "masked")
	}
	if slices.Contains([]string{"keep", "drop", "masked"}, fn) && g.chance(0.5) {
		g.add(on(fn, a, g.mask(a)), a.axes, a)
		return true
	}
	b := g.partner(a)
	axes := a.axes
	for i := range axes {
		if j := i - len(axes) + len(b.axes); j >= 0 && axes[i].Size == 1 {
			axes = slices.Clone(axes)
			axes[i] = b.axes[j]
		}
	}
	op := on(fn, a, b)
	if g.chance(0.2) {
		slices.Reverse(op.In)
	}
	g.add(op, axes, a)
	return true
}

// mask returns a new tensor that selects elements of v.
func (g *generator) mask(v *value) *value {
	input, dtype := g.inputOf, pick(g, domain.AllDTypes...)
	if !dtype.Computes() {
		input = g.integers
	}
	return input(v.shape()[g.IntN(len(v.axes)):], dtype, v.mesh)
}

func (g *generator) partner(a *value) *value {
	for range 4 {
		if b := g.any(); b != a && b.dtype == a.dtype && slices.Equal(b.shape(), a.shape()) {
			return b
		}
	}
	if g.chance(0.1) {
		return a
	}
	shape := slices.Clone(a.shape())
	shape = shape[min(len(shape)-1, max(0, g.IntN(len(shape)+2)-2)):]
	for i, extent := range shape {
		switch {
		case g.chance(0.15):
			shape[i] = 1
		case extent == 1 && product(a.shape())*4 <= maxElements && g.chance(0.4):
			shape[i] = g.extent()
		}
	}
	return g.inputLike(shape, a)
}

func (g *generator) reduce() bool {
	v := g.any()
	at := g.IntN(len(v.axes))
	if split := slices.IndexFunc(v.axes, func(a domain.Axis) bool { return a.Kind == domain.Device }); split >= 0 && g.chance(0.6) {
		at = split
	}
	fn := pick(g, "sum", "sum", "sum", "sum", "max", "min")
	if g.chance(0.05) {
		fn = "prod"
	}
	op := on(fn, v).with(g.axisAttr(at, len(v.axes)))
	if len(v.axes) == 1 {
		g.addWide(op, []domain.Axis{{Kind: domain.Serial, Extent: domain.Extent{Size: 1}}}, v)
		return true
	}
	axes := slices.Delete(slices.Clone(v.axes), at, at+1)
	out := g.addWide(op, axes, v)
	g.listReduced(out, reduced(v.axes[at].Extent), at)
	return true
}

// listReduced sometimes adds the reduced axis to the declaration of the result, if there is one.
func (g *generator) listReduced(v *value, reduced domain.Axis, at int) {
	if i := g.spec.declared(v.name); i >= 0 && g.chance(0.5) {
		g.spec.Tensors[i].Axes = slices.Insert(g.spec.Tensors[i].Axes, at, reduced)
	}
}

// composite adds a composite operation. It returns false if the operation does not fit.
func (g *generator) composite() bool {
	v := g.any()
	if product(v.shape()) > 64 {
		return false
	}
	fn := pick(g, model.Composites...)
	op := on(fn, v)
	last := v.shape()[len(v.axes)-1:]
	// Along an axis of at most this extent, the gradient is almost 0, and its computed value only rounding errors.
	few := map[string]int64{"normalize_grad": 2, "layer_norm_grad": 2, "rms_norm_grad": 1}[fn]
	if last[0] <= few {
		return false
	}
	switch fn {
	case "mean", "argmax":
		return g.alongAxis(op, v)
	case "layer_norm":
		op.read(g.inputLike(last, v), g.inputLike(last, v))
	case "rms_norm":
		if g.chance(0.7) {
			op.read(g.inputLike(last, v))
		}
	case "rope", "rope_grad":
		n := len(v.axes)
		if n < 2 || last[0]%2 != 0 {
			return false
		}
		if g.chance(0.6) {
			table := []int64{v.shape()[n-2], last[0] / 2}
			op.read(g.inputLike(table, v), g.inputLike(table, v))
			break
		}
		axis := n - 2
		if g.chance(0.5) {
			axis = g.IntN(n - 1)
			op = op.with(g.axisAttr(axis, n))
		}
		g.countRows(&op, axis)
	case "softmax":
		if n := len(v.axes); n > 1 && v.shape()[n-2] <= last[0] && g.chance(0.4) {
			op = op.with(word("causal", "true"))
			g.countRows(&op, n-2)
		}
	case "split", "quantize", "dequantize", "scaled_linear", "dropout", "gather", "scatter_add", "top_k", "cumsum", "clamp":
		return false // these have several results, special operands or their own maker
	case "where":
		op = on(fn, g.mask(v), v, g.partner(v))
	case "softmax_grad", "normalize_grad", "log_softmax_grad":
		op.read(g.inputLike(v.shape(), v))
	case "layer_norm_grad", "rms_norm_grad":
		op.read(g.inputLike(v.shape(), v))
		if fn == "layer_norm_grad" || g.chance(0.7) {
			op.read(g.inputLike(last, v))
		}
	}
	takesAxis := slices.Min(v.shape()) > few && !slices.Contains([]string{"layer_norm", "rms_norm", "layer_norm_grad", "rms_norm_grad",
		"where", "rope", "rope_grad"}, fn) && len(op.Attrs) == 0
	if takesAxis && len(v.axes) > 1 && g.chance(0.5) {
		op = op.with(g.axisAttr(g.IntN(len(v.axes)), len(v.axes)))
	}
	if len(v.axes) < 2 {
		return false // the operation reduces an axis, and would leave no other
	}
	g.add(op, v.axes, v)
	return true
}

// alongAxis adds a composite whose result lacks an axis of its operand.
func (g *generator) alongAxis(op Op, v *value) bool {
	if len(v.axes) < 2 {
		return false
	}
	at, like := g.IntN(len(v.axes)), v
	if op.Fn == "argmax" {
		like = v.as(domain.Int32)
	}
	out := g.add(op.with(g.axisAttr(at, len(v.axes))), slices.Delete(slices.Clone(v.axes), at, at+1), like)
	if op.Fn == "argmax" {
		g.whole(out)
	}
	return true
}

// countRows adds split=rows or split=batches to most operations whose axis of rows follows another axis.
func (g *generator) countRows(op *Op, axis int) {
	if axis > 0 && g.chance(0.7) {
		*op = op.with(word("split", pick(g, "rows", "batches")))
	}
}
