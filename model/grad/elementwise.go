package grad

import (
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// same is for operations that change values at most by an additive constant: dX = dY.
func same(u use) { u.flow(0, u.dy[0], u.along()) }

// formula is for functions of one operand whose gradient is a body on X, Y and dY. Its last step is dX. The names of the
// other steps begin with the names of those tensors.
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

// scale: dX = by dY, with the constant by.
func scale(u use) {
	u.give(0, like("scale", u.dy[0]).with("by="+u.Attr("by").Values[0]), nil)
}

// add: dA = dY, dB = dY.
func add(u use) {
	along, g := u.along(), u.ready()
	u.flow(0, g, along)
	u.flow(1, g, along)
}

// sub: dA = dY, dB = -dY.
func sub(u use) {
	along, g := u.along(), u.ready()
	u.flow(0, g, along)
	u.give(1, like("neg", g), along)
}

// mul: dA = dY B, dB = dY A.
func mul(u use) {
	along, g := u.along(), u.ready()
	for i := range 2 {
		if u.wants(i) {
			u.give(i, like("mul", g, u.in(1-i)), along)
		}
	}
}

// div, Y = A / B: dA = dY / B, dB = -dA Y.
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

// extreme is for max and min. For two tensors, the gradient goes to the larger or the smaller element. The function
// also handles reductions.
func extreme(u use) {
	if len(u.In) == 1 {
		picked(u)
		return
	}
	along, fns := u.along(), [2]string{"keep", "drop"}
	compare := "ge" // where the first operand is larger
	if u.Fn == "min" {
		compare, fns = "gt", [2]string{"drop", "keep"}
	}
	g := u.ready()
	mask := u.named(u.Out[0].Name+"_mask", like(compare, u.in(0), u.in(1)))
	for i, fn := range fns {
		u.give(i, like(fn, g, mask), along)
	}
}

// chosen is for functions that keep the elements that a mask selects: dX = keep(dY, mask).
func chosen(fn string) func(use) {
	return func(u use) {
		u.give(0, like(fn, u.ready(), u.in(1)), u.along())
	}
}

// where: dA = keep(dY, mask), dB = drop(dY, mask).
func where(u use) {
	along, g := u.along(), u.ready()
	mask := u.typed(u.in(0), g.dtype)
	u.give(1, like("keep", g, mask), along)
	u.give(2, like("drop", g, mask), along)
}

// dropout: dX = dropout(dY). The mask is recomputed from the same seed.
func dropout(u use) {
	u.give(0, like(u.Fn, u.whole()).reading(u.backward, u.In[1:]...).with(attrs(u.WrittenOp)...), nil)
}
