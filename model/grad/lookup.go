package grad

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// gather adds up the rows of the gradient that come from one row of the table. That is a product with a matrix of ones and
// zeros, with ones where numbers are equal. So ranks need the products of their numbers alone, and add these.
func gather(u use) {
	table, ids, g := u.in(0), u.in(1), u.typed(u.whole(), u.In[0].DType)
	at := len(table.axes) - len(g.axes) + len(ids.axes) - 1 // 1 if the first axis counts blocks of rows, otherwise 0
	position := func(axis int) value {
		r := like("positions", table).with(axisAttr(axis)).along(table.axes[axis : axis+1])
		r.dtype = domain.FP32
		return u.named(table.name+"_at", r)
	}
	row := position(at)
	if at > 0 {
		first := u.named(table.name+"_first", like("scale", position(0)).with("by="+table.axes[1].Extent.String()))
		first = u.named(table.name+"_firsts", like("broadcast", first).with(axisAttr(1)).along(append(slices.Clone(first.axes), one)))
		row = u.named(table.name+"_number", like("add", first, row))
	}
	row = u.named(table.name+"_numbers", like("broadcast", row).with(axisAttr(at+1)).along(append(slices.Clone(row.axes), one)))
	rows, columns := domain.Axis{Extent: merge(ids.axes)}, domain.Axis{Extent: merge(table.axes[at+1:])}
	numbers := u.named(ids.name+"_rows", reshaped(u.typed(ids, domain.FP32), []domain.Axis{rows}))
	is := u.typed(u.named(u.Out[0].Name+"_is", like("eq", row, numbers)), table.dtype)
	dy := u.named(g.name+"_rows", reshaped(g, []domain.Axis{rows, columns}))
	sum := like("matmul", is).along(slices.Concat(is.axes[:at+1], []domain.Axis{columns}))
	sum.args = append(sum.args, dy.name)
	u.give(0, reshaped(u.named("d"+table.name+"_rows", sum), table.axes), nil)
}
