package model

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

func inferMatmul(in *inference) bool {
	return in.product(in.axesOf(0), in.axesOf(1))
}

// inferLinear derives the result of a GEMM with the transposed weight. A bias has one element for each row of the weight.
func inferLinear(in *inference) bool {
	w := in.axesOf(1)
	if n := len(w); n >= 2 {
		w = slices.Clone(w)
		w[n-2], w[n-1] = w[n-1], w[n-2]
	}
	if !in.product(in.axesOf(0), w) {
		return false
	}
	if len(in.op.In) < 3 || in.rule.kind != OpLinear {
		return true
	}
	weight, bias := domain.Shape(in.op.In[1].Axes), domain.Shape(in.op.In[2].Axes)
	if want := weight[:len(weight)-1]; !slices.Equal(bias, want) {
		in.a.list.Add(in.src.args[2].pos, diag.ShapeMismatch, "the bias %s has shape %s; it goes with the rows %s of %s",
			in.op.In[2].Name, domain.FormatShape(bias), domain.FormatShape(want), in.op.In[1].Name)
		return false
	}
	return true
}

// product derives [..., m, k] x [k, n], where all leading axes of a are rows, and
// [batch..., m, k] x [batch..., k, n].
func (in *inference) product(a, b []domain.Axis) bool {
	if !in.productDTypes() {
		return false
	}
	x, y := in.op.In[0], in.op.In[1]
	for i, axes := range [][]domain.Axis{a, b} {
		if len(axes) < 2 {
			in.a.list.Add(in.src.args[i].pos, diag.BadAxisCount, "%s has %d axis; %s needs at least 2", in.op.In[i].Name, len(axes), in.src.fn.value)
			return false
		}
	}
	m, n := len(a), len(b)
	k := a[m-1].Extent
	if k.Size != b[n-2].Size {
		in.fail(diag.ShapeMismatch, "%s sums over the last axis of %s, which is %s, and over axis %d of %s, which is %s: they must be equal",
			in.src.fn.value, x.Name, withValue(k), in.summedAxis(n), y.Name, withValue(b[n-2].Extent)).
			WithHint("%s", in.hintOfProduct(k.Size == b[n-1].Size)).
			AddNote(x.Pos, "%s is %s", x.Name, domain.FormatAxes(x.Axes)).AddNote(y.Pos, "%s is %s", y.Name, domain.FormatAxes(y.Axes))
		return false
	}
	rows := a[:m-1]
	if n > 2 {
		batch, ok := in.stretch(a[:m-2], b[:n-2])
		if !ok {
			return false
		}
		rows = slices.Concat(batch, a[m-2:m-1])
	}
	in.axes = slices.Concat(rows, b[n-1:])
	in.reduced = reducedAxis{extent: k, at: len(in.axes), exists: true}
	return true
}

// productDTypes checks the types of the operands of a GEMM, and sets the type of the result. It is the operands' type
// or fp32, and for fp8 operands any type in which operations compute.
func (in *inference) productDTypes() bool {
	if attr := in.src.attr("block"); attr != nil {
		in.a.list.Add(attr.name.pos, diag.BadAttribute, "blocks have scales, and %s without quantize has none", in.src.fn.value).
			WithHint("write quantize=fp8_e4m3, block=%d", domain.BlockRow)
		return false
	}
	x := in.op.In[0].DType
	short := x.Saturates() && in.op.In[1].DType.Saturates()
	if in.dtype = x; short {
		in.dtype = in.a.dtype
		if in.out != nil && in.out.DType.Computes() {
			in.dtype = in.out.DType
		}
	} else if !in.sameDTypes() {
		return false
	}
	if attr := in.src.attr("dtype"); attr != nil {
		before := in.a.list.Len()
		in.dtype = in.a.elementType(attr.values[0], in.dtype)
		fits := in.dtype == domain.FP32 || in.dtype == x && !short || short && in.dtype.Computes()
		if in.a.list.Len() == before && !fits {
			in.a.list.Add(attr.values[0].pos, diag.BadAttribute, "%s of %s gives %s or fp32", in.src.fn.value, x, x)
		}
		if in.a.list.Len() > before {
			return false
		}
	}
	return !short || in.rule.kind != OpLinear || in.biasOf8Bits()
}

// biasOf8Bits checks the bias of a GEMM of fp8 operands: the result must have 16 bits, and the bias the type of the result.
func (in *inference) biasOf8Bits() bool {
	if len(in.op.In) < 3 || in.dtype.Size() == 2 && in.op.In[2].DType == in.dtype {
		return true
	}
	in.a.list.Add(in.src.args[2].pos, diag.DTypeMismatch, "%s of numbers of 8 bits adds a bias to results of 16 bits, of its type; "+
		"%s is %s, and the result %s", in.src.fn.value, in.op.In[2].Name, in.op.In[2].DType, in.dtype).
		WithHint("leave out the bias, and add it to the result with add(%s, %s)", in.src.out.value, in.op.In[2].Name)
	return false
}

// hintOfProduct explains how a GEMM reads its second operand, and names the other GEMM operation if that would fit.
func (in *inference) hintOfProduct(otherFits bool) string {
	x, y := in.op.In[0].Name, in.op.In[1].Name
	how := fmt.Sprintf("matmul(%s, %s) takes %s as [.., K, N]", x, y, y)
	other := fmt.Sprintf("linear(%s, %s) takes %s as [.., N, K], as nn.Linear has weights", x, y, y)
	if in.rule.kind != OpMatmul {
		how, other = other, how
	}
	if otherFits {
		how += "; " + other
	}
	return how
}

// summedAxis returns the axis of the second operand, of n axes, that a GEMM sums over.
func (in *inference) summedAxis(n int) int {
	if in.rule.kind != OpMatmul {
		return n - 1
	}
	return n - 2
}
