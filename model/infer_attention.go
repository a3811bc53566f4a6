package model

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// mostHeadSize is the largest head size of the runtime: hirgen::kMostHeadSize.
const mostHeadSize = 256

// inferAttention derives two results from Q[batch..., heads, rows, size] and K, V[batch..., key heads, keys, size]. The
// first is O[batch..., heads, rows, size]. The second is L[batch..., heads, rows], the log-sum-exp of each row of
// scores, in fp32. Q, O and L may have one more axis in front: see reading.
func inferAttention(in *inference) bool {
	if !in.attention(0) || !in.attentionFn(0) {
		return false
	}
	in.axes = in.attended(0)
	in.more = []derived{{domain.FP32, in.axes[:len(in.axes)-1]}}
	return true
}

// inferAttentionGrad derives the gradients of Q, K and V from dO, Q, K, V, O and L.
func inferAttentionGrad(in *inference) bool {
	if len(in.src.more) != 2 {
		in.fail(diag.BadOperands, "attention_grad has 3 results, not %d", 1+len(in.src.more)).
			WithHint("write dQ, dK, dV = attention_grad(dO, Q, K, V, O, L)")
		return false
	}
	if !in.attention(1) || !in.attentionFn(1) || !in.isLike(0, 1, 0) || !in.isLike(4, 1, 0) || !in.isLike(5, 1, 1) {
		return false
	}
	in.axes = in.attended(1)
	dk := in.axesOf(2)
	if len(in.axes) > len(dk) { // each block has separate gradients of K and V
		dk = slices.Insert(dk, 0, in.axes[0])
	}
	for i := range len(dk) - 3 {
		dk[i] = in.axes[i]
	}
	plain(dk[len(dk)-3:])
	in.more = []derived{{in.op.In[1].DType, dk}, {in.op.In[1].DType, dk}}
	return true
}

// attention checks the queries, keys and values, which are operands q, q+1 and q+2.
func (in *inference) attention(q int) bool {
	Q, K, V := in.op.In[q], in.op.In[q+1], in.op.In[q+2]
	for i := q; i < q+3; i++ {
		if t := in.op.In[i]; t.DType != Q.DType {
			in.at(i, diag.DTypeMismatch, "%s is %s, but %s is %s", t.Name, t.DType, Q.Name, Q.DType).WithHint("convert one of them with cast")
			return false
		}
		if n := len(in.axesOf(i)); n < 3 {
			in.misfits(i, diag.BadAxisCount, "%s has %d axes, and attention takes heads, rows and the elements of a row as the last three",
				in.op.In[i].Name, n)
			return false
		}
	}
	if k, v := domain.Shape(K.Axes), domain.Shape(V.Axes); !slices.Equal(k, v) {
		found := in.a.list.Add(in.src.args[q+2].pos, diag.ShapeMismatch, "%s has the shape %s, and %s %s: there is a value for each key, "+
			"of the same size", V.Name, domain.FormatShape(v), K.Name, domain.FormatShape(k))
		if last := len(k) - 1; len(k) == len(v) && v[last] < k[last] && slices.Equal(k[:last], v[:last]) {
			found.WithHint("append zeros to the rows of %s with concat, and take the first %d columns of the result with slice", V.Name, v[last])
		}
		return false
	}
	queries, keys := in.axesOf(q), in.axesOf(q+1)
	blocks := len(queries) - len(keys)
	if blocks < 0 || blocks > 1 {
		in.at(q+1, diag.BadAxisCount, "%s has %d axes, and %s has %d", K.Name, len(keys), Q.Name, len(queries)).
			WithHint("give both the same axes, or %s one more in front, which counts blocks of heads or of rows", Q.Name)
		return false
	}
	n := len(keys)
	for i := range n - 3 {
		a, b := queries[blocks+i], keys[i]
		if a.Size != b.Size {
			d := in.at(q+1, diag.ShapeMismatch, "axis %d of %s is %s, and axis %d of %s is %s", i, K.Name, withValue(b.Extent), blocks+i, Q.Name,
				withValue(a.Extent))
			if blocks > 0 {
				d.WithHint("the axis that %s does not have stands in front of the others of %s", K.Name, Q.Name)
			}
			return false
		}
		if blocks > 0 && queries[0].Kind != domain.Device && a.Kind == domain.Device && b.Kind != domain.Device {
			in.at(q, diag.ShapeMismatch, "axis %d of %s is split over ranks, and axis %d of %s, which it goes with, is not", blocks+i, Q.Name,
				i, K.Name).
				WithHint("if it is the axis that %s does not have, put it in front of the others of %s with permute; if not, split %s, too", K.Name,
					Q.Name, K.Name)
			return false
		}
	}
	size := queries[blocks+n-1].Extent
	switch {
	case size.Size != keys[n-1].Size:
		in.misfits(q+1, diag.ShapeMismatch, "attention multiplies rows of %s, of %s, with those of %s, of %s", Q.Name, withValue(size), K.Name,
			withValue(keys[n-1].Extent))
	case size.Size > mostHeadSize:
		in.misfits(q, diag.BadAttribute, "the rows of a head of %s have %s elements; attention takes up to %d", Q.Name, withValue(size),
			mostHeadSize)
	default:
		return true
	}
	return false
}

// attentionFn reads the attributes of an attention whose queries are operand q, and sets the function of the rule.
func (in *inference) attentionFn(q int) bool {
	queries := in.axesOf(q)
	size := queries[len(queries)-1].Size
	a := domain.Attention{Scale: float64(float32(1 / math.Sqrt(float64(size))))}
	var ok bool
	if a.Causal, ok = in.boolAttribute("causal"); !ok {
		return false
	}
	if attr := in.src.attr("scale"); attr != nil {
		if attr.list {
			in.a.list.Add(attr.name.pos, diag.BadAttribute, "scale is one number, not a list")
			return false
		}
		if a.Scale, ok = in.a.decimal(attr.values[0]); !ok {
			return false
		}
	}
	window, ok := in.bound("window", number{})
	if !ok {
		return false
	}
	switch attr := in.src.attr("window"); {
	case attr != nil && !a.Causal:
		in.a.list.Add(attr.name.pos, diag.BadAttribute, "a window is of the keys up to a query's own position").WithHint("write causal=true, too")
		return false
	case attr != nil && window.value < 1:
		in.a.list.Add(attr.values[0].pos, diag.BadAttribute, "a window of %d keys leaves a query none", window.value)
		return false
	}
	a.Window = window.value
	if a.Split, ok = in.split(q, a); !ok {
		return false
	}
	in.rule.fn = a.Fn()
	return true
}

// attended returns the axes of a result with a row for each query. The axes of rows and of elements are serial, and so
// is the axis of heads if groups of heads share one of several key heads, or if blocks split the heads. No axis is streamed.
func (in *inference) attended(q int) []domain.Axis {
	axes, keys := in.axesOf(q), in.axesOf(q+1)
	n, blocks := len(axes), len(axes)-len(keys)
	for i := range len(keys) - 3 {
		axes[blocks+i] = joinKinds(axes[blocks+i], keys[i])
	}
	plain(axes[n-2:])
	fn, _ := domain.AttentionOf(in.rule.fn)
	if heads := keys[len(keys)-3].Size; fn.Split == domain.SplitHeads || heads != 1 && heads != axes[n-3].Size {
		plain(axes[n-3 : n-2])
	}
	for i := range axes {
		if axes[i].Kind == domain.Stream {
			axes[i] = serial(axes[i])
		}
	}
	return axes
}

// plain makes axes serial.
func plain(axes []domain.Axis) {
	for i := range axes {
		axes[i] = serial(axes[i])
	}
}

// isLike checks that operand i has the shape of operand q without its last axes; the argument without is their number.
// If it is 0, operand i must have the element type of operand q. Otherwise operand i is L, and must be fp32.
func (in *inference) isLike(i, q, without int) bool {
	t, like := in.op.In[i], in.op.In[q]
	want, dtype := domain.Shape(like.Axes), like.DType
	if without > 0 {
		want, dtype = want[:len(want)-without], domain.FP32
	}
	if have := domain.Shape(t.Axes); !slices.Equal(have, want) {
		in.misfits(i, diag.ShapeMismatch, "%s has the shape %s; it goes with %s, and has %s", t.Name, domain.FormatShape(have), like.Name,
			domain.FormatShape(want))
		return false
	}
	if t.DType != dtype {
		in.misfits(i, diag.DTypeMismatch, "%s is %s; it goes with %s, and is %s", t.Name, t.DType, like.Name, dtype)
		return false
	}
	return true
}

// at reports a mistake at an operand, and returns the diagnostic.
func (in *inference) at(operand int, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return in.a.list.Add(in.src.args[operand].pos, code, format, args...)
}

// misfits reports a mistake at an operand, without a hint.
func (in *inference) misfits(operand int, code diag.Code, format string, args ...any) {
	in.a.list.Add(in.src.args[operand].pos, code, format, args...)
}
