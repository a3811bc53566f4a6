package grad

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// gather gives each row of the table the sum of the gradients of its copies in the result, by a scatter_add. Without
// split, the operand of a scatter_add has the axes of the ids right after the batches, and its result the axis of rows.
// If the table has other axes before its rows, permutes move these axes there and back.
func gather(u use) {
	table, ids, g := u.in(0), u.in(1), u.typed(u.whole(), u.In[0].DType)
	if u.Attr("split") != nil {
		r := like("scatter_add", ids, g).with("rows="+table.axes[1].Extent.String(), "blocks="+table.axes[0].Extent.String()).along(table.axes)
		r.dtype = g.dtype
		u.give(0, r, nil)
		return
	}
	at, batches := u.Ops[0].Axis, u.Ops[0].Batches
	own, rows := len(ids.axes)-batches, table.axes
	if at > batches {
		g = u.named(g.name+"_rows", swapped(g, batches, at, at+own))
		rows = slices.Concat(rows[:batches], rows[at:at+1], rows[batches:at], rows[at+1:])
	}
	r := like("scatter_add", ids, g).with("rows=" + table.axes[at].Extent.String()).along(rows)
	if batches > 0 {
		r = r.with("batches=" + strconv.Itoa(batches))
	}
	if r.dtype = g.dtype; at > batches {
		r = swapped(u.named("d"+table.name+"_rows", r), batches, batches+1, at+1)
	}
	u.give(0, r, nil)
}

// swapped exchanges two adjacent ranges of axes, from first to middle-1 and from middle to end-1.
func swapped(v value, first, middle, end int) result {
	n := lists.Numbers(len(v.axes))
	return permuted(v, slices.Concat(n[:first], n[middle:end], n[first:middle], n[end:]))
}

// scatterAdd gives each row of X the gradient of the row of the result to which it was added, by a gather.
func scatterAdd(u use) {
	r := like("gather", u.whole()).reading(u.backward, u.In[0]).along(u.axes(u.In[1])).with(attrs(u.WrittenOp, "rows", "blocks")...)
	if u.Attr("blocks") != nil {
		r = r.with("split=" + domain.SplitRows)
	}
	u.give(1, r, nil)
}

// topK gives each element that top_k has chosen the gradient of its value, and the other elements 0.
func topK(u use) {
	x, g, index := u.in(0), u.whole(), u.forward(u.Out[1])
	last := len(x.axes) - 1
	at := like("positions", x).with(axisAttr(last)).along(x.axes[last:])
	at.dtype = domain.FP32
	is := like("eq", u.broadcast(index, last+1), u.named(x.name+"_at", at))
	is.dtype = domain.FP32
	values := u.broadcast(g, last+1)
	chosen := u.typed(u.named(x.name+"_is", is), g.dtype)
	u.give(0, summed(u.named("d"+x.name+"_chosen", like("keep", values, chosen)), last), nil)
}

// cumsum adds up the gradients from the other end.
func cumsum(u use) {
	r := like("cumsum", u.whole()).with(attrs(u.WrittenOp, "reverse")...)
	if back := u.Attr("reverse"); back == nil || back.Values[0] == "false" {
		r = r.with("reverse=true")
	}
	u.give(0, r, nil)
}
