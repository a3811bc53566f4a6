package eval

import "github.com/hirgen/hirgen/model"

// gatherShape has the extents of a gather, with the axes merged: the table is [outer, count, inner], the ids are [outer
// / shared, numbers], and the result is [outer, numbers, inner]. If the table has blocks of rows, counted consecutive
// indices of outer are in one block.
type gatherShape struct{ outer, shared, count, counted, numbers, inner int64 }

func shapeOfGather(op *model.Op, in []*Array) gatherShape {
	table, g := in[0].Shape, gatherShape{outer: 1, shared: 1, inner: strides(in[0].Shape)[op.Axis], count: in[0].Shape[op.Axis]}
	for i, n := range table[:op.Axis] {
		g.outer *= n
		if i >= op.Batches {
			g.shared *= n
		}
	}
	g.numbers = int64(len(in[1].Data)) * g.shared / g.outer
	if g.counted = g.outer; len(in) > 2 {
		g.counted = g.outer / int64(len(in[2].Data))
	}
	return g
}

// number returns the index of the id that selects the row of the result with index row.
func (g gatherShape) number(row int64) int64 { return row/g.numbers/g.shared*g.numbers + row%g.numbers }

// rows computes a gather: for each id, the sum of all rows of a table, where Numbers.Picks gives the factor of each
// row. If the table has blocks of rows, the third operand has the number of the first row of each block.
func (n Numbers) rows(op *model.Op, in []*Array, shape []int64) *Array {
	table, ids, first := in[0], in[1].Data, []float64{0}
	if len(in) > 2 {
		first = in[2].Data
	}
	g, out := shapeOfGather(op, in), NewArray(shape...)
	for i := range g.outer * g.numbers {
		block := i / g.numbers
		rows, id := table.Data[block*g.count*g.inner:], ids[g.number(i)]
		sums := out.Data[i*g.inner:][:g.inner]
		for r := range g.count {
			if by := n.Picks(id, first[block/g.counted]+float64(r)); by != 0 {
				n.AddProducts(sums, by, rows[r*g.inner:][:g.inner])
			}
		}
	}
	return out
}
