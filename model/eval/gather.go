package eval

// rows computes a gather: for each id the sum of all rows of a table, each times the factor Numbers.Picks of the id and the row's
// number. If the table has blocks of rows, the third operand has the number of the first row of each block.
func (n Numbers) rows(in []*Array, shape []int64) *Array {
	table, ids, first := in[0], in[1].Data, []float64{0}
	axis := rowsAxis(in)
	if len(in) > 2 {
		first = in[2].Data
	}
	count, inner, out := table.Shape[axis], strides(table.Shape)[axis], NewArray(shape...)
	for b, from := range first {
		rows := table.Data[int64(b)*count*inner:]
		for i, id := range ids {
			sums := out.Data[int64(b*len(ids)+i)*inner:][:inner]
			for r := range count {
				if by := n.Picks(id, from+float64(r)); by != 0 {
					n.AddProducts(sums, by, rows[r*inner:][:inner])
				}
			}
		}
	}
	return out
}

// rowsAxis returns the axis of rows of a gather's table, from the operands of the gather.
func rowsAxis(in []*Array) int {
	if len(in) > 2 {
		return len(in[2].Shape)
	}
	return 0
}
