package soak

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

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
		return false // most of these operations reduce an axis, and some would leave no other
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
	out := g.add(op.with(g.axisAttr(at, len(v.axes))), lists.Without(v.axes, at), like)
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
