package soak

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// attention adds an attention. Its queries are an existing tensor, a new input, or the input that inBlocks makes. It
// returns false if operands would be too large.
func (g *generator) attention() bool {
	if g.chance(0.6) {
		return g.attentionOf(g.inBlocks(), pick(g, domain.Splits...))
	}
	q := g.any()
	if len(q.axes) < 3 {
		q = g.input(g.shape(3 + g.IntN(2)))
	}
	return g.attentionOf(q, "")
}

// attentionOf adds an attention. split says whether the first axis of the queries counts blocks of heads, blocks of rows
// or, if split is empty, no blocks. Keys and values may be the same tensor. It returns false if operands would be too large.
func (g *generator) attentionOf(q *value, split string) bool {
	shape := q.shape()
	n := len(shape)
	keys := slices.Clone(shape)
	if heads := shape[n-3]; g.chance(0.5) {
		keys[n-3] = pick(g, 1, heads, heads/(2-heads%2))
	}
	if split == domain.SplitHeads {
		keys[n-3] = pick(g, 1, shape[0], shape[0]*shape[n-3], keys[n-3])
	}
	keys[n-2] = g.extent()
	op := on("attention", q)
	if g.chance(0.5) {
		keys[n-2] = max(keys[n-2], shape[n-2])
		if split == domain.SplitRows {
			keys[n-2] = max(keys[n-2], shape[0]*shape[n-2])
		}
		op = op.with(word("causal", "true"))
		if g.chance(0.3) {
			op = op.with(number("window", 1+g.Int64N(keys[n-2])))
		}
	}
	if split != "" {
		keys = keys[1:]
		op = op.with(word("split", split))
	}
	op.read(g.operand(q, keys), g.operand(q, keys))
	if product(shape) > maxElements || product(keys) > maxElements {
		g.drop(op)
		return false
	}
	axes := slices.Clone(q.axes)
	for i := range axes {
		if i >= n-2 || axes[i].Kind == domain.Stream || i == n-3 &&
			(split == domain.SplitHeads || keys[len(keys)-3] != 1 && keys[len(keys)-3] != shape[i]) {
			axes[i] = serialAxis(shape[i])
		}
	}
	out := g.add(op, g.sound(axes), q)
	if g.chance(0.5) {
		logs := g.further(axes[:n-1], q.as(domain.FP32))
		if g.chance(0.5) {
			g.attentionGrad(op, q, out, logs, keys)
		}
	}
	return true
}

// inBlocks makes queries whose first axis counts blocks of heads or rows: as many as a mesh axis has ranks, and most often split
// over it.
func (g *generator) inBlocks() *value {
	m := g.mesh()
	shape := g.shape(4 + g.IntN(2))
	if len(m.Axes) == 0 {
		return g.inputOf(shape, g.spec.DType, m)
	}
	along := pick(g, m.Axes...)
	shape[0] = along.Size
	q := g.inputOf(shape, g.spec.DType, m)
	if g.chance(0.8) {
		q.axes = g.placed(shape, m, 0, 0)
		q.axes[0] = along.device()
		g.spec.Tensors[len(g.spec.Tensors)-1].Axes = slices.Clone(q.axes)
	}
	return q
}

// attentionGrad adds the gradient of an attention from the gradient of its result. Mostly it reads the results of the
// attention, like a backward pass, and otherwise inputs.
func (g *generator) attentionGrad(attention Op, q, out, logs *value, keys []int64) {
	if g.chance(0.3) {
		out, logs = g.inputLike(q.shape(), q), g.inputOf(logs.shape(), domain.FP32, q.mesh)
	}
	op := Op{Fn: "attention_grad", Attrs: attention.Attrs}
	op.In = append([]string{g.operand(q, q.shape()).name}, attention.In...)
	op.read(out, logs)
	g.add(op, slices.Clone(q.axes), q)
	whole := serialAxes(nil, keys...)
	if len(keys) < len(q.axes) {
		whole = slices.Insert(whole, 0, serialAxis(q.axes[0].Size))
	}
	g.further(whole, q)
	g.further(whole, q)
}

// further adds another result to the last operation.
func (g *generator) further(axes []domain.Axis, like *value) *value {
	g.results++
	v := &value{name: fmt.Sprintf("T%d", g.results), axes: slices.Clone(axes), dtype: like.dtype, mesh: like.mesh}
	op := &g.spec.Ops[len(g.spec.Ops)-1]
	op.More = append(op.More, v.name)
	g.known = append(g.known, v)
	if g.chance(0.3) {
		g.declare(v, g.annotation(v))
	}
	return v
}
