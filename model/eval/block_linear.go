package eval

import (
	"math"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// blockLinear computes a linear operation whose fp8 operands have one scale for each block. For each block of the
// summed axis it sums the products and multiplies the sum by the scales of both operands. It then adds these sums.
func (n Numbers) blockLinear(in []*Array, shape []int64) *Array {
	const block = domain.BlockRow
	x, w, s, t := in[0], in[1], in[2], in[3]
	out, mul := NewArray(shape...), n.Binary("mul")
	k, columns := x.last(1), w.last(2)
	rows, left, right := int64(len(x.Data))/k, []float64{0}, []float64{0}
	if len(w.Shape) > 2 {
		batch := shape[:len(shape)-2]
		rows, left, right = x.last(2), matrices(x, batch), matrices(w, batch)
	}
	byRow := permuted(w, turned(len(w.Shape))) // [.., k, n]
	blocks := k / block
	sum := make([]float64, block)
	for i := range int64(len(out.Data)) / columns {
		row, matrix := int64(left[i/rows])*rows+i%rows, int64(right[i/rows])
		for j := int64(0); j < columns; j += block {
			sums := out.Data[i*columns+j:][:block]
			for b := range blocks {
				clear(sum)
				for l := b * block; l < (b+1)*block; l++ {
					n.AddProducts(sum, x.Data[row*k+l], byRow.Data[(matrix*k+l)*columns+j:][:block])
				}
				n.AddProducts(sums, mul(s.Data[row*blocks+b], t.Data[(matrix*columns+j)/block*blocks+b]), sum)
			}
		}
	}
	return out
}

// blockLinear bounds a block-scaled GEMM like a plain linear operation on the operands times their scales.
func (b *bounder) blockLinear(op *model.Op, values map[string]*Array) {
	plain := &model.Op{Kind: model.OpLinear, Out: op.Out, Pos: op.Pos}
	for i, t := range op.In[:2] {
		wide := *t // has the fp8 type, for which added uses wider bounds, but the values times the scales
		plain.In = append(plain.In, &wide)
		b.known[&wide] = b.known[t].times(b.known[op.In[i+2]])
	}
	b.operation(plain, values)
	for _, wide := range plain.In {
		delete(b.known, wide)
	}
}

// times returns the operand k, with its bounds, multiplied by the scales s of its blocks.
func (k *bounded) times(s *bounded) *bounded {
	x := &bounded{
		value: unscaled(k.value, s.value), other: unscaled(k.other, s.other), bound: NewArray(k.value.Shape...),
		rounds: k.rounds || s.rounds, jumps: k.jumps || s.jumps, samples: k.samples + s.samples,
	}
	scales, elements := combined(s.bound, s.leap, rest), combined(k.bound, k.leap, rest)
	leaps := combined(unscaled(size(k.value, k.bound), s.leap), unscaled(k.leap, size(s.value, scales)), plus)
	noise := combined(unscaled(k.value, scales), unscaled(elements, s.value), math.Hypot)
	for j, v := range x.value.Data {
		if e := noise.Data[j]; e != 0 || leaps.Data[j] != 0 { // otherwise no rounding changes the operand
			x.bound.Data[j] = math.Hypot(e, spread*0x1p-23*v) + leaps.Data[j]
		}
	}
	x.leap = leaps
	return x
}

// unscaled multiplies each element of the operand q by the scale of its block in s.
func unscaled(q, s *Array) *Array {
	rows, columns, blocks := q.last(2), q.last(1), s.last(1)
	across := rows / s.last(2) // rows of a block
	out := NewArray(q.Shape...)
	for i := range out.Data {
		row := int64(i) / columns
		block := row/rows*(rows/across) + row%rows/across
		out.Data[i] = q.Data[i] * s.Data[block*blocks+int64(i)%columns*blocks/columns]
	}
	return out
}

// turned returns the permutation of a number of axes that exchanges the last two.
func turned(axes int) []int {
	perm := lists.Numbers(axes)
	perm[axes-2], perm[axes-1] = axes-1, axes-2
	return perm
}
