package values

import (
	"github.com/hirgen/hirgen/model/domain"
)

// attend computes domain.Attention.Run in the field: exponentials and logarithms are random functions. A row of O is the sum of
// weights times rows of V, divided by the sum of the weights.
func (f *field) attend(a domain.Attention, s domain.AttentionShape, in [][]float64) [][]float64 {
	if len(in) == 3 {
		return f.forward(a, s, in[0], in[1], in[2])
	}
	return f.backward(a, s, in)
}

func (f *field) forward(a domain.Attention, s domain.AttentionShape, q, k, v []float64) [][]float64 {
	o, logs, scale := make([]float64, len(q)), make([]float64, int64(len(q))/s.Size), exactly(a.Scale)
	a.EachRow(s, func(row, first, last int64) {
		out, sum := part(o, row, s.Size), uint64(0)
		for j := first; j < last; j++ {
			weight := f.random("weight", mul(scale, dot(part(q, row, s.Size), part(k, j, s.Size))))
			sum = add(sum, weight)
			addProducts(out, float64(weight), part(v, j, s.Size))
		}
		by := inverse(sum)
		for c := range out {
			out[c] = float64(mul(uint64(out[c]), by))
		}
		logs[row] = float64(f.random("logarithm", sum))
	})
	return [][]float64{o, logs}
}

func (f *field) backward(a domain.Attention, s domain.AttentionShape, in [][]float64) [][]float64 {
	do, q, k, v, o, logs := in[0], in[1], in[2], in[3], in[4], in[5]
	dq, dk, dv := make([]float64, len(q)), make([]float64, s.Blocks*int64(len(k))), make([]float64, s.Blocks*int64(len(v)))
	perBlock, scale := int64(len(logs))/s.Blocks, exactly(a.Scale)
	a.EachRow(s, func(row, first, last int64) {
		slope, own := part(do, row, s.Size), part(q, row, s.Size)
		along := neg(dot(slope, part(o, row, s.Size)))
		block := row / perBlock * int64(len(k)) / s.Size
		for j := first; j < last; j++ {
			weight := f.random("weight over sum", mul(scale, dot(own, part(k, j, s.Size))), uint64(logs[row]))
			score := float64(mul(mul(scale, weight), add(dot(slope, part(v, j, s.Size)), along)))
			addProducts(part(dq, row, s.Size), score, part(k, j, s.Size))
			addProducts(part(dk, block+j, s.Size), score, own)
			addProducts(part(dv, block+j, s.Size), float64(weight), slope)
		}
	})
	return [][]float64{dq, dk, dv}
}

func part(data []float64, row, size int64) []float64 { return data[row*size : (row+1)*size] }

func dot(a, b []float64) uint64 {
	sum := uint64(0)
	for i, v := range a {
		sum = add(sum, mul(uint64(v), uint64(b[i])))
	}
	return sum
}
