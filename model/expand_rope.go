package model

import (
	"math"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// rope(X, cos, sin) rotates pairs of elements of the last axis, one element from each half: [X1 cos - X2 sin, X2 cos
// + X1 sin]. The operands are the cosines and sines of the angles. In rope(X), the angle of pair i of C/2 is position
// * base^(-2 i / C), with positions along an axis, by default the last but one. rope(X, at) has the positions as an
// operand. rope_grad, its gradient, rotates by the same angles in the other direction.
func rope(e *expansion) {
	axes := e.axesOf(0)
	if !e.halves(len(axes), axes[len(axes)-1].Size) {
		e.broken()
		return
	}
	x, last := e.src.args[0].value, strconv.Itoa(len(axes)-1)
	half := strconv.FormatInt(axes[len(axes)-1].Size/2, 10)
	if text := axes[len(axes)-1].Text; text != "" {
		half = "(" + text + ")/2"
	}
	first := e.step("first", "slice", []string{x}, "axis", last, "size", half)
	second := e.step("second", "slice", []string{x}, "axis", last, "start", half, "size", half)
	var cos, sin string
	if len(e.op.In) == 3 {
		cos, sin = e.arg(1), e.arg(2)
	} else {
		angles := e.angles(first)
		cos, sin = e.step("cos", "cos", []string{angles}), e.step("sin", "sin", []string{angles})
	}
	narrow := e.op.In[0].DType != domain.FP32
	product := func(name, half, table string) string {
		if narrow { // a cast for each product, so that a separate kernel reads the half in place
			half = e.step(name+"_fp32", "cast", []string{half}, "dtype", string(domain.FP32))
		}
		return e.step(name, "mul", []string{half, table})
	}
	add, sub := "add", "sub"
	if e.src.fn.value == "rope_grad" { // rotates back
		add, sub = sub, add
	}
	low := e.step("low", sub, []string{product("first_cos", first, cos), product("second_sin", second, sin)})
	high := e.step("high", add, []string{product("second_cos", second, cos), product("first_sin", first, sin)})
	if narrow {
		low = e.step("low_rounded", "cast", []string{low}, "dtype", string(e.op.In[0].DType))
		high = e.step("high_rounded", "cast", []string{high}, "dtype", string(e.op.In[0].DType))
	}
	e.add(e.src.out.value, "concat", []string{low, high}, []string{"axis", last})
}

// halves checks the operands and attributes of a rope, and sets its axis and base, and how its rows are counted.
func (e *expansion) halves(axes int, last int64) bool {
	attr := e.src.attr("axis")
	switch base := e.src.attr("base"); {
	case len(e.op.In) == 3 && (attr != nil || base != nil):
		e.fail(diag.BadAttribute, "rope of tables has no axis and no base: the tables have the angles")
		return false
	case len(e.op.In) > 1 && e.src.attr("split") != nil:
		e.a.list.Add(e.src.attr("split").name.pos, diag.BadAttribute, "the rope of %s is given its positions: no axis counts them",
			e.op.In[0].Name).WithHint("leave split out")
		return false
	case last%2 != 0:
		e.fail(diag.ShapeMismatch, "rope rotates pairs of elements of the last axis of %s, which has %d", e.op.In[0].Name, last)
		return false
	case len(e.op.In) < 3 && axes < 2:
		e.fail(diag.BadAxisCount, "rope takes positions along an axis before the last one, and %s has one axis", e.op.In[0].Name)
		return false
	case attr == nil:
		e.axis = max(0, axes-2)
	case e.axis == axes-1:
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "rope takes positions along another axis than the last one, which it rotates")
		return false
	}
	e.base = 10000
	if base := e.src.attr("base"); base != nil && !base.list {
		var ok bool
		if e.base, ok = e.a.decimal(base.values[0]); !ok {
			return false
		}
	}
	if e.base <= 1 {
		e.fail(diag.BadAttribute, "the base of a rope is greater than 1")
		return false
	}
	if len(e.op.In) == 2 {
		return e.given(domain.Shape(e.axesOf(0))[:e.axis+1])
	}
	return len(e.op.In) > 1 || e.countsRows(e.axis, math.MaxInt64)
}

// given checks the operand with the positions. along has the extents of X up to the axis of positions. The shape of the
// operand must be the end of along, where 1 may replace an extent.
func (e *expansion) given(along []int64) bool {
	have := domain.Shape(e.axesOf(1))
	fits := len(have) <= len(along)
	for i, extent := range have {
		fits = fits && (extent == along[len(along)-len(have)+i] || extent == 1)
	}
	if !fits {
		e.fail(diag.ShapeMismatch, "the positions %s have the shape %s, and %s has %s up to the axis that they run along",
			e.op.In[1].Name, domain.FormatShape(have), e.op.In[0].Name, domain.FormatShape(along))
	}
	return fits
}

// angles adds operations that compute position times frequency for each pair, and returns the name of the result. half is
// one half of the operand.
func (e *expansion) angles(half string) string {
	axes := e.axesOf(0)
	pairs := e.step("pairs", "positions", []string{half}, "axis", "-1")
	by := formatFloat(-2 * math.Log(e.base) / float64(axes[len(axes)-1].Size))
	frequencies := e.step("frequencies", "exp", []string{e.step("exponents", "scale", []string{pairs}, "by", by)})
	var at string
	var own int // number of axes of the positions
	if len(e.op.In) == 2 {
		at, own = e.arg(1), len(e.axesOf(1))
	} else {
		at, own = e.rowsAlong("at", half, e.axis)
	}
	for i := range len(axes) - 1 - e.axis {
		at = e.step("at_b", "broadcast", []string{at}, "axis", strconv.Itoa(own+i))
	}
	return e.step("angles", "mul", []string{at, frequencies})
}
