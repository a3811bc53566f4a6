package model

import (
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// maxConcat is the largest number of operands of a concat.
const maxConcat = 64

// inferSlice derives the result of a slice: elements start to stop-1 of an axis, or size elements from start on.
func inferSlice(in *inference) bool {
	axes := in.axesOf(0)
	axis, ok := in.axisAttr(len(axes))
	if !ok || !in.whole(0, axes[axis]) {
		return false
	}
	start, ok := in.bound("start", number{})
	if !ok {
		return false
	}
	extent := axes[axis].Extent
	stop, ok := in.bound("stop", number{extent.Size, extent.Text})
	if !ok {
		return false
	}
	size, ok := in.bound("size", minus(stop, start))
	if !ok {
		return false
	}
	if attr := in.src.attr("size"); attr != nil && in.src.attr("stop") != nil {
		in.a.list.Add(attr.name.pos, diag.BadAttribute, "slice takes stop or size, not both")
		return false
	}
	if stop := start.value + size.value; start.value < 0 || size.value < 1 || stop > extent.Size {
		in.fail(diag.BadAttribute, "elements %d to %d of axis %d (%s) of %s are not a part of it", start.value, stop-1, axis, withValue(extent),
			in.op.In[0].Name).
			WithHint("write slice(%s, axis=%d, start=0, stop=n), or size=n in place of stop, with 0 <= start < stop <= %s", in.op.In[0].Name,
				axis, extent)
		return false
	}
	in.op.Axis, in.op.Start = axis, domain.Extent{Text: start.text, Size: start.value}
	axes[axis] = domain.Axis{Extent: domain.Extent{Text: size.text, Size: size.value}}
	in.axes = axes
	return in.wholeResult(axis)
}

// bound reads an attribute that is one expression. If the attribute is missing, it returns its second argument.
func (in *inference) bound(name string, otherwise number) (number, bool) {
	attr := in.src.attr(name)
	if attr == nil {
		return otherwise, true
	}
	if attr.list {
		in.a.list.Add(attr.name.pos, diag.BadAttribute, "%s is one number, not a list", name)
		return number{}, false
	}
	return in.a.eval(attr.values[0])
}

// minus returns x - y: x itself if y is 0, and otherwise a number with an expression if x or y has one.
func minus(x, y number) number {
	difference := number{value: x.value - y.value}
	switch {
	case y.value == 0:
		return x
	case x.text != "" && y.text != "":
		difference.text = x.text + "-(" + y.text + ")"
	case x.text != "" || y.text != "":
		difference.text = withoutName(x) + "-(" + withoutName(y) + ")"
	}
	if e, err := expr.Parse(difference.text); err == nil {
		difference.text = expr.Compact(e)
	}
	return difference
}

// withoutName prints the expression of a number, or its value if it has none.
func withoutName(n number) string { return domain.Extent{Text: n.text, Size: n.value}.String() }

// whole reports an operation that divides or joins an operand along an axis that is split over ranks, and returns false
// for it.
func (in *inference) whole(operand int, axis domain.Axis) bool {
	if axis.Kind != domain.Device {
		return true
	}
	name := in.op.In[operand].Name
	in.a.list.Add(in.src.args[operand].pos, diag.BadAttribute, "%s takes parts along an axis of %s that is split over ranks: %s",
		in.src.fn.value, name, axis).
		WithHint("take them along the axis of a rank's part, which stands beside it, or gather %s first: %s_all = set(%s), with that axis "+
			"declared whole", name, name, name)
	return false
}

// wholeResult reports a declared result that is split or streamed along the axis that the operation divides or joins, and
// returns false for it.
func (in *inference) wholeResult(at int) bool {
	if in.out == nil {
		return true
	}
	declared := domain.WithoutReductions(in.out.Axes)
	if at >= len(declared) || declared[at].Kind != domain.Device && declared[at].Kind != domain.Stream {
		return true
	}
	in.fail(diag.BadAttribute, "axis %d of %s is %s, and %s takes parts along it", at, in.out.Name, declared[at], in.src.fn.value).
		AddNote(in.out.Pos, "%s is declared here", in.out.Name).
		WithHint("declare that axis plain, and split or stream it with set")
	return false
}

// inferConcat derives the concatenation of operands whose shapes differ only along one axis, by default the last.
func inferConcat(in *inference) bool {
	if !in.sameDTypes() {
		return false
	}
	axes := in.axesOf(0)
	axis := len(axes) - 1
	if in.src.attr("axis") != nil {
		var ok bool
		if axis, ok = in.axisAttr(len(axes)); !ok {
			return false
		}
	}
	total, texts := int64(0), []string{}
	for i, t := range in.op.In {
		other := in.axesOf(i)
		if len(other) != len(axes) {
			in.a.list.Add(in.src.args[i].pos, diag.ShapeMismatch, "%s has %d axes, and %s has %d", t.Name, len(other), in.op.In[0].Name, len(axes))
			return false
		}
		if !in.whole(i, other[axis]) {
			return false
		}
		for j, a := range other {
			switch {
			case j == axis:
			case a.Size != axes[j].Size:
				in.a.list.Add(in.src.args[i].pos, diag.ShapeMismatch, "axis %d of %s is %s, and that of %s is %s: concat joins axis %d alone",
					j, t.Name, withValue(a.Extent), in.op.In[0].Name, withValue(axes[j].Extent), axis)
				return false
			default:
				axes[j] = joinKinds(axes[j], a)
			}
		}
		sum, fits := expr.Add(total, other[axis].Size)
		if !fits {
			in.fail(diag.Overflow, "the extent of axis %d does not fit in 64 bits", axis)
			return false
		}
		total, texts = sum, append(texts, other[axis].Extent.String())
	}
	in.op.Axis = axis
	axes[axis] = domain.Axis{Extent: domain.Extent{Size: total}}
	if e, err := expr.Parse(strings.Join(texts, "+")); err == nil {
		axes[axis].Text = expr.Compact(expr.Cancel(e)) // such as K/2+K/2 to K
	}
	in.axes = axes
	return in.wholeResult(axis)
}

// split adds a slice for each result. The slices have the given sizes, or equal sizes.
func split(e *expansion) {
	sizes, ok := e.sizes()
	if !ok || !e.inference.whole(0, e.axesOf(0)[e.axis]) {
		e.broken()
		return
	}
	start := number{}
	for i, out := range e.src.results() {
		at := e.src.text
		attr := func(name, value string) sourceAttr { return sourceAttr{name: at(name), values: []text{at(value)}} }
		e.a.operation(&sourceOp{
			out: out, fn: at("slice"), pos: e.src.pos, args: e.src.args, attrs: []sourceAttr{
				attr("axis", withoutName(number{value: int64(e.axis)})), attr("start", withoutName(start)), attr("size", withoutName(sizes[i])),
			},
		})
		start = plus(start, sizes[i])
	}
}

// plus returns the sum of two numbers, with an expression if one of them has an expression.
func plus(x, y number) number {
	if x.value == 0 {
		return y
	}
	sum := number{value: x.value + y.value}
	if x.text != "" || y.text != "" {
		sum.text = withoutName(x) + "+" + withoutName(y)
	}
	return sum
}

// sizes returns the sizes of the results of a split: the values of the attribute sizes, or else equal parts of the
// axis.
func (e *expansion) sizes() ([]number, bool) {
	results, extent := len(e.src.results()), e.axesOf(0)[e.axis].Extent
	attr := e.src.attr("sizes")
	if attr == nil {
		if extent.Size%int64(results) != 0 {
			e.fail(diag.BadAttribute, "axis %d (%s) of %s cannot be split into %d equal parts", e.axis, withValue(extent), e.op.In[0].Name, results).
				WithHint("write sizes=[...], one for each result")
			return nil, false
		}
		part := number{value: extent.Size / int64(results)}
		if extent.Text != "" {
			part.text = "(" + extent.Text + ")/" + domain.Extent{Size: int64(results)}.String()
		}
		return slicesOf(part, results), true
	}
	if !attr.list || len(attr.values) != results {
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "sizes lists the size of each result, of which there are %d", results)
		return nil, false
	}
	sizes, total := make([]number, results), int64(0)
	for i, t := range attr.values {
		size, ok := e.a.extent(t)
		if !ok {
			return nil, false
		}
		sizes[i] = number{size.Size, size.Text}
		if total, ok = expr.Add(total, size.Size); !ok || total > extent.Size {
			break
		}
	}
	if total != extent.Size {
		e.a.list.Add(attr.name.pos, diag.ShapeMismatch, "the sizes come to %d, and axis %d of %s has %s", total, e.axis, e.op.In[0].Name,
			withValue(extent))
		return nil, false
	}
	return sizes, true
}

func slicesOf(part number, count int) []number {
	list := make([]number, count)
	for i := range list {
		list[i] = part
	}
	return list
}
