package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// dropout(X, seed, p=) is dropout_at with the index of each element in the whole tensor. The operation positions
// computes the element's column and, over all earlier axes, its row. Passes split these tensors over ranks and slices
// like any others, so kernels need not know which part of the tensor they have.
func dropout(e *expansion) {
	axes := e.axesOf(0)
	if !e.seeded() || !e.rowsFit(axes) {
		e.broken()
		return
	}
	e.salted()
	x, last := e.src.args[0].value, len(axes)-1
	operands := []string{x, e.src.args[1].value, e.step("column", "positions", []string{x}, "axis", strconv.Itoa(last))}
	if row := e.rowIndex(x, axes[:last]); row != "" {
		operands = append(operands, row)
	}
	attrs := []string{"width", strconv.FormatInt(axes[last].Size, 10)}
	for _, attr := range e.src.attrs {
		attrs = append(attrs, attr.name.value, attr.values[0].value)
	}
	e.add(e.src.out.value, "dropout_at", operands, attrs)
}

// seeded checks that operand 1, the seed, is one int64.
func (in *inference) seeded() bool {
	seed := in.op.In[1]
	if elements, _ := domain.Elements(domain.Shape(seed.Axes)); seed.DType == domain.Int64 && elements == 1 {
		return true
	}
	in.a.list.Add(in.src.args[1].pos, diag.BadOperands, "the seed of a dropout is one int64, and %s is %s %s", seed.Name, seed.DType,
		domain.FormatAxes(seed.Axes)).
		WithHint("declare %s: {axes: [1], dtype: int64}", seed.Name)
	return false
}

// rowsFit checks that the number of rows is within the range of positions.
func (e *expansion) rowsFit(axes []domain.Axis) bool {
	rows, fits := domain.Elements(domain.Shape(axes[:len(axes)-1]))
	if !fits || rows > mostPositions {
		e.fail(diag.BadAttribute, "%s has more than %d rows, which a dropout counts", e.op.In[0].Name, mostPositions)
		return false
	}
	return true
}

// salted adds a salt to a dropout without one: its index among the dropouts of the spec. The salt is then explicit in
// the backward pass too, which recomputes the mask.
func (e *expansion) salted() {
	if e.src.attr("salt") == nil {
		at := e.src.text
		e.src.attrs = append(slices.Clone(e.src.attrs), sourceAttr{name: at("salt"), values: []text{at(strconv.Itoa(e.a.dropouts))}})
	}
	e.a.dropouts++
}

// rowIndex adds operations that compute the row-major index of each row, over the given axes of x. It returns the name
// of their result, or "" if there is only one row.
func (e *expansion) rowIndex(x string, axes []domain.Axis) string {
	index, step := "", int64(1)
	for i, axis := range slices.Backward(axes) {
		if axis.Size == 1 {
			continue
		}
		name := "at" + strconv.Itoa(i)
		at := e.step(name, "positions", []string{x}, "axis", strconv.Itoa(i))
		for back := range len(axes) - i {
			at = e.step(name+"_b", "broadcast", []string{at}, "axis", strconv.Itoa(back+1))
		}
		if step > 1 {
			at = e.step(name+"_rows", "scale", []string{at}, "by", strconv.FormatInt(step, 10))
		}
		if step *= axis.Size; index != "" {
			at = e.step("row", "add", []string{at, index})
		}
		index = at
	}
	return index
}

// inferDropout infers dropout_at(X, seed, column, row), in which row may be missing. The operands after X stretch to X.
func inferDropout(in *inference) bool {
	p, pOK := in.chance()
	salt, saltOK := in.wholeNumber("salt", 0)
	width, widthOK := in.wholeNumber("width", 1)
	if !in.seeded() || !pOK || !saltOK || !widthOK {
		return false
	}
	d := domain.Dropout{P: p, Salt: salt, Width: width}
	in.axes, in.rule.fn = in.axesOf(0), d.Fn()
	for i := range in.op.In[1:] {
		stretched, fits := in.stretch(in.axes, in.axesOf(i+1))
		if !fits {
			return false
		}
		if !slices.Equal(domain.Shape(stretched), domain.Shape(in.axes)) {
			in.fail(diag.ShapeMismatch, "%s does not stretch to %s", in.op.In[i+1].Name, in.op.In[0].Name)
			return false
		}
	}
	return true
}

// chance reads the attribute p. It returns false after it has reported an error.
func (in *inference) chance() (float64, bool) {
	attr := in.src.attr("p")
	if attr == nil || attr.list {
		in.fail(diag.BadAttribute, "dropout needs the share that it leaves out").WithHint("write dropout(%s, %s, p=0.1)", in.op.In[0].Name,
			in.op.In[1].Name)
		return 0, false
	}
	p, ok := in.a.decimal(attr.values[0])
	if ok && !(domain.Dropout{P: p}).Possible() {
		in.a.list.Add(attr.values[0].pos, diag.BadAttribute, "p is %s; it is at least 0 and less than 1", attr.values[0].value)
		return 0, false
	}
	return p, ok
}

// wholeNumber reads a required attribute: an expression over parameters whose value must be at least least.
func (in *inference) wholeNumber(name string, least int64) (int64, bool) {
	attr := in.src.attr(name)
	if attr == nil || attr.list {
		in.fail(diag.BadAttribute, "%s needs one %s", in.src.fn.value, name)
		return 0, false
	}
	v, ok := in.a.eval(attr.values[0])
	if ok && v.value < least {
		in.a.list.Add(attr.values[0].pos, diag.BadAttribute, "%s is %d; it is at least %d", name, v.value, least)
		return 0, false
	}
	return v.value, ok
}
