package interp

import (
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/model/domain"
)

// scaledGemm computes a GEMM with scales of blocks, as cuBLASLt does. It sums the products of each block along K in
// fp32, and adds each such sum times the scales of both blocks.
func scaledGemm(v views) {
	const block = domain.BlockRow
	out, a, b, scalesA, scalesB := v[effects.Out], v[effects.A], v[effects.B], v[effects.ScalesA], v[effects.ScalesB]
	each(out.extents, func(at []int64) {
		q, i, j := at[0], at[1], at[2]
		sum := float32(0)
		for l := range a.extents[2] / block {
			part, x, y := float32(0), a.offset([]int64{q, i, l * block}), b.offset([]int64{q, l * block, j})
			for range block {
				part += float32(a.data[x] * b.data[y])
				x, y = x+a.strides[2], y+b.strides[1]
			}
			sum += float32(scalesA.get(i, l)*scalesB.get(j/block, l)) * part
		}
		out.set(at, float64(sum))
	})
}
