package soak

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/model/domain"
)

// dropout adds a dropout of a tensor. Its seed is a new input or an existing one. It returns false if the tensor has
// too many axes.
func (g *generator) dropout() bool {
	v := g.any()
	if len(v.axes) >= maxAxes {
		return false
	}
	var seed *value
	for _, t := range g.spec.Tensors {
		if t.DType == domain.Int64 && len(t.Axes) == 1 && t.Axes[0].Size == 1 && t.Mesh == g.meshName(v) && g.chance(0.7) {
			seed = &value{name: t.Name}
		}
	}
	if seed == nil {
		seed = g.integers([]int64{1}, domain.Int64, v.mesh)
	}
	op := on("dropout", v, seed).with(word("p", pick(g, "0.1", "0.5", "0.25", "0")))
	if g.chance(0.3) {
		op = op.with(word("salt", strconv.Itoa(g.IntN(5))))
	}
	g.add(op, v.axes, v)
	return true
}

// gather adds a gather of rows of a tensor: along any axis, with batches, or with split=rows, which takes the first
// axis as a count of blocks. It returns false if the result could be too large or have too many axes.
func (g *generator) gather() bool {
	v, shape := g.any(), []int64{g.extent(), g.extent()}[:1+g.IntN(2)]
	op, batches, at := on("gather", v), 0, 0
	before := v.axes[:0]
	switch {
	case len(v.axes) > 1 && !v.dtype.IsInteger() && g.chance(0.4):
		op, at = op.with(word("split", domain.SplitRows)), 1
	case len(v.axes) > 1 && g.chance(0.6):
		at = g.IntN(len(v.axes))
		if batches = g.IntN(at + 1); batches > 0 {
			op = op.with(number("batches", int64(batches)))
		}
		if at != batches || g.chance(0.3) {
			op = op.with(g.axisAttr(at, len(v.axes)))
		}
		before = v.axes[:at]
	}
	shape = slices.Concat(v.shape()[:batches], shape)
	if len(shape)+len(v.axes) > maxAxes || product(shape)*product(v.shape()) > maxElements {
		return false
	}
	ids := g.integers(shape, pick(g, domain.Int32, domain.Int64), v.mesh)
	op.read(ids)
	g.add(op, g.sound(slices.Concat(before, ids.axes[batches:], v.axes[at+1:])), v)
	return true
}

// meshName returns the mesh of a tensor as its declaration names it.
func (g *generator) meshName(v *value) string {
	if v.mesh.Name == g.spec.World.Name {
		return ""
	}
	return v.mesh.Name
}

// integers declares an input, sometimes reshards it, and calls forget, because few operations read its type.
func (g *generator) integers(shape []int64, dtype domain.DType, m Mesh) *value {
	v := g.inputOf(shape, dtype, m)
	if g.chance(0.2) {
		v = g.laidResult(on("set", v), g.placed(shape, m, 0.5, 0.2), v)
	}
	g.forget()
	return v
}

// forget removes from known all tensors of a type in which most operations do not compute.
func (g *generator) forget() {
	g.known = slices.DeleteFunc(g.known, func(k *value) bool { return !k.dtype.Computes() })
}
