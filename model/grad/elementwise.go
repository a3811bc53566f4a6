package grad

import (
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// same computes dX = dY, for operations that change values only by an additive constant or by rounding.
func same(u use) { u.flow(0, u.dy[0], u.along()) }

// formula returns the rule of a function of one operand whose gradient is a body on X, Y and dY. The last step of the body
// is dX. The names of the other steps begin with "X_", "Y_" or "dX_", which the rule replaces with names of the pipeline.
func formula(text string) func(use) {
	body, _ := domain.ParseBody(text, []string{"X", "Y", "dY"})
	return func(u use) {
		values := []value{{}, {}, u.dy[0]}
		for i, s := range body {
			fn, constant := domain.SplitFn(s.Fn)
			args := make([]value, len(s.Args))
			for k, at := range s.Args {
				if at < 2 {
					values[at] = u.forward([]*model.Tensor{u.In[0], u.Out[0]}[at])
				}
				args[k] = values[at]
			}
			r := like(fn, args[0], args[1:]...)
			if constant != "" {
				r = r.with("by=" + constant)
			}
			if i == len(body)-1 {
				u.give(0, r, nil)
				return
			}
			of, name, _ := strings.Cut(s.Name, "_")
			of = map[string]string{"X": u.In[0].Name, "Y": u.Out[0].Name, "dX": "d" + u.In[0].Name}[of]
			values = append(values, u.named(of+"_"+name, r))
		}
	}
}

// scale computes dX = by dY, with the constant by.
func scale(u use) {
	u.give(0, like("scale", u.dy[0]).with("by="+u.Attr("by").Values[0]), nil)
}

// clamp computes dX = dY, but 0 where X is below the smallest or above the largest number of a clamp.
func clamp(u use) {
	dx, x := u.dy[0], u.In[0].Name
	for _, limit := range []struct{ fn, attr, side string }{{"clamp_min", "min", "below"}, {"clamp_max", "max", "above"}} {
		attr := u.Attr(limit.attr)
		if u.Fn == limit.fn {
			attr = u.Attr("by")
		}
		if attr == nil {
			continue
		}
		past := u.named(x+"_past", like("shift", u.in(0)).with("by="+negative(attr.Values[0])))
		if limit.side == "below" {
			past = u.named(x+"_missing", like("neg", past))
		}
		dx = u.named("d"+x+"_limited", like("drop", dx, u.named(x+"_"+limit.side, like("relu_grad", past))))
	}
	u.flow(0, dx, u.along())
}

// negative returns the text of -v for the text of a number.
func negative(v string) string {
	if magnitude, ok := strings.CutPrefix(v, "-"); ok && domain.IsDecimal(magnitude) {
		return magnitude
	}
	if domain.IsDecimal(v) {
		return "-" + v
	}
	return "-(" + v + ")"
}

// add computes dA = dY and dB = dY.
func add(u use) {
	along, g := u.along(), u.ready()
	u.flow(0, g, along)
	u.flow(1, g, along)
}

// sub computes dA = dY and dB = -dY.
func sub(u use) {
	along, g := u.along(), u.ready()
	u.flow(0, g, along)
	u.give(1, like("neg", g), along)
}

// mul computes dA = dY B and dB = dY A.
func mul(u use) {
	along, g := u.along(), u.ready()
	for i := range 2 {
		if u.wants(i) {
			u.give(i, like("mul", g, u.in(1-i)), along)
		}
	}
}

// div computes dA = dY / B and dB = -dA Y, for Y = A / B.
func div(u use) {
	along := u.along()
	da := like("div", u.ready(), u.in(1))
	u.give(0, da, along)
	if u.wants(1) {
		name := "d" + u.In[1].Name
		v := u.named("d"+u.In[0].Name+"_"+u.Out[0].Name, da)
		u.give(1, like("neg", u.named(name+"_away", like("mul", v, u.result()))), along)
	}
}

// extreme computes the gradients of max and min. Of two tensors, the one with the larger or smaller element gets the
// gradient, and the first if they are equal. For a reduction, see picked.
func extreme(u use) {
	if len(u.In) == 1 {
		picked(u)
		return
	}
	along, fns := u.along(), [2]string{"keep", "drop"}
	compare := "ge" // for max, the mask is 1 where the first operand gets the gradient; for min, where the second does
	if u.Fn == "min" {
		compare, fns = "gt", [2]string{"drop", "keep"}
	}
	g := u.ready()
	mask := u.named(u.Out[0].Name+"_mask", like(compare, u.in(0), u.in(1)))
	for i, fn := range fns {
		u.give(i, like(fn, g, mask), along)
	}
}

// chosen returns the rule dX = fn(dY, mask) of a function that keeps the elements that a mask selects. fn is keep or drop.
func chosen(fn string) func(use) {
	return func(u use) {
		u.give(0, like(fn, u.ready(), u.in(1)), u.along())
	}
}

// where computes dA = keep(dY, mask) and dB = drop(dY, mask).
func where(u use) {
	along, g := u.along(), u.ready()
	u.give(1, like("keep", g, u.in(0)), along)
	u.give(2, like("drop", g, u.in(0)), along)
}

// dropout computes dX = dropout(dY), which recomputes the mask from the same seed.
func dropout(u use) {
	u.give(0, like(u.Fn, u.whole()).reading(u.backward, u.In[1:]...).with(attrs(u.WrittenOp)...), nil)
}
