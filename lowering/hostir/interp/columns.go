package interp

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// foldedColumns returns a function that computes a kernel that reduces along columns. It processes the rows one after
// the other.
func foldedColumns(s *hostir.Fused, out *view, in []*view) func() error {
	columns, count := s.Columns(), int64(1)
	rows, steps := make([]int64, len(in)), make([]int64, len(in)) // strides of rows and columns; 0: only one
	for i, t := range s.In {
		if axis := hostir.RowAxis(t); axis != hostir.Unmapped && in[i].Size[axis] > 1 {
			rows[i], count = in[i].Stride[axis], max(count, in[i].Size[axis])
		}
		if last := lastAxis(t); last >= 0 && in[i].Size[last] > 1 {
			steps[i] = in[i].Stride[last]
		}
	}
	to := int64(0)
	if last := lastAxis(s.Out[0]); last >= 0 && out.Size[last] > 1 {
		to = out.Stride[last]
	}
	return func() error {
		var folded []float64
		for r := range count {
			operands := make([][]float64, len(in))
			for i, v := range in {
				at := v.Offset + r*rows[i]
				operands[i] = []float64{v.data[at]}
				for c := int64(1); c < columns && steps[i] != 0; c++ {
					operands[i] = append(operands[i], v.data[at+c*steps[i]])
				}
			}
			values := s.Body.Row(operands, columns, nil)
			folded = s.Body.FoldIn(domain.Singles, folded, values[len(values)-1])
		}
		for c, value := range folded {
			out.data[out.Offset+int64(c)*to] = s.Out[0].DType.Round(value)
		}
		return nil
	}
}
