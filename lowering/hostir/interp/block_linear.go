package interp

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// blockLinear returns a function that computes a GEMM with one scale for each block, row by row. For each element, the
// function sums the products of each block in fp32, multiplies each sum by the scales of the block, and adds the scaled
// sums in fp32.
func blockLinear(s *hostir.BlockLinear, out *view, in []*view) func() error {
	const block = domain.BlockRow
	last := lastAxis(s.Out)
	rows := slices.Clone(out.Size)
	rows[last] = 1
	strides, start := [][]int64{out.Stride}, []int64{out.Offset}
	var along1, along2 []int64 // the strides of the last axis of each operand, and of the axis before it
	for i, row := range hostir.AxisMap(s) {
		live := hostir.Live(hostir.Uses(s)[i])
		strides, start = append(strides, along(in[i], row, out)), append(start, in[i].Offset)
		along1, along2 = append(along1, in[i].Stride[live[len(live)-1]]), append(along2, in[i].Stride[live[len(live)-2]])
	}
	x, w, scaleX, scaleW := in[0].data, in[1].data, in[2].data, in[3].data
	depth := in[0].Size[lastAxis(s.X)]
	return func() error {
		walk(rows, strides, start, func(at []int64) {
			for j := range out.Size[last] {
				sum := float32(0)
				for b := range depth / block {
					part := float32(0)
					for k := b * block; k < (b+1)*block; k++ {
						part += float32(x[at[1]+k*along1[0]] * w[at[2]+j*along2[1]+k*along1[1]])
					}
					sum += float32(scaleX[at[3]+b*along1[2]]*scaleW[at[4]+j/block*along2[3]+b*along1[3]]) * part
				}
				out.data[at[0]+j*out.Stride[last]] = s.Out.DType.Round(float64(sum))
			}
		})
		return nil
	}
}
