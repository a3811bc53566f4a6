package eval

// rows adds up the rows of a table, each times the factor for its number and an id: see Numbers.Picks. Blocks of rows have a third
// operand with the number of their first row.
func (n Numbers) rows(in []*Array, shape []int64) *Array {
	table, ids, first := in[0], in[1].Data, []float64{0}
	axis := 0
	if len(in) > 2 {
		first, axis = in[2].Data, len(in[2].Shape)
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
