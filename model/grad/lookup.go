package grad

import "github.com/hirgen/hirgen/model/domain"

// gather adds up the rows of the gradient that come from one row of the table.
func gather(u use) {
	table, ids, g := u.in(0), u.in(1), u.typed(u.whole(), u.In[0].DType)
	at := len(table.axes) - len(g.axes) + len(ids.axes) - 1 // 1 if the first axis counts blocks of rows, otherwise 0
	r := like("scatter_add", ids, g).with("rows=" + table.axes[at].Extent.String()).along(table.axes)
	if at > 0 {
		r = r.with("blocks=" + table.axes[0].Extent.String())
	}
	r.dtype = g.dtype
	u.give(0, r, nil)
}

// scatterAdd reads the rows of the gradient to which rows were added.
func scatterAdd(u use) {
	r := like("gather", u.whole()).reading(u.backward, u.In[0]).along(u.axes(u.In[1]))
	if u.Attr("blocks") != nil {
		r = r.with("split=" + domain.SplitRows)
	}
	u.give(1, r, nil)
}

// topK gives the gradients of the largest elements to these elements.
func topK(u use) {
	x, g, index := u.in(0), u.whole(), u.forward(u.Out[1])
	last := len(x.axes) - 1
	at := like("positions", x).with(axisAttr(last)).along(x.axes[last:])
	at.dtype = domain.FP32
	is := like("eq", u.broadcast(index, last+1), u.named(x.name+"_at", at))
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
