package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// sameTypes casts the parts of a reduction over ranks to the type of its result. A communication converts nothing, and a sum
// of 16-bit numbers would be rounded at every rank. Parts that a point-to-point pipeline sends to the rank that reduces them
// keep their type, because that rank reduces them in fp32.
func (c *contiguity) sameTypes(s hostir.Stmt) []hostir.Stmt {
	r, ok := s.(*hostir.Reduce)
	if !ok || r.In.DType == r.Out.DType || !Reshards(r) || c.collectsParts(r) {
		return []hostir.Stmt{s}
	}
	axes := alongside(r, 0)
	key := r.In.Name + " " + string(r.Out.DType) + domain.FormatAxes(axes)
	if t := c.casts[key]; t != nil {
		r.In = t
		return []hostir.Stmt{r}
	}
	t := c.names.Declare(r.In, "_"+string(r.Out.DType))
	t.DType, t.Axes = r.Out.DType, axes
	c.casts[key] = t
	cast := &hostir.Cast{Info: hostir.InfoFrom(r, "ranks add "+string(t.DType)+": nothing converts it on its way"), Out: t, In: r.In}
	r.In = t
	return []hostir.Stmt{cast, r}
}

// collectsParts reports whether a reduction over ranks will be a local reduction of the parts that a point-to-point pipeline
// has collected.
func (c *contiguity) collectsParts(r *hostir.Reduce) bool {
	choices, name := c.program.Choices, c.moves(r)
	return choices.Exchanges() && choices.Of(name, schedule.Steps) != schedule.Ring && choices.Of(name, schedule.Fuse) != schedule.PeerRead &&
		ScattersSlices(r)
}

// ScattersSlices reports whether a reduction over ranks leaves each rank one slice of a Stream axis, so that a pipeline can
// reduce slice by slice. If the result has a Stream axis, ScattersSlices is false: the result is made in slices along that
// axis, and a slice along both axes is not contiguous.
func ScattersSlices(r *hostir.Reduce) bool {
	m := Describe(r)
	i := m.Scattered()
	return len(m.Shifts) == 1 && i >= 0 && r.In.Axes[i].Kind == domain.Stream && hostir.StreamAxis(r.Out) < 0
}
