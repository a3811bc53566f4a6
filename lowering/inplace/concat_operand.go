package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// operand is one of a concat, in a pipeline the slice at hand.
type operand struct {
	*joined
	number int
	result *hostir.Tensor   // the buffer of the concat's result
	by     []*hostir.Select // what takes the result from there

	whole  *hostir.Tensor // that the operand is taken from as the result is from its buffer
	axis   int            // of the concat, among those that the buffer of the result has
	buffer *hostir.Tensor
	views  []hostir.Stmt // what makes whole of the buffer, from whole on
	slice  *sliced       // where slices are taken behind whole; nil: they are not
}

// place makes the buffer of an operand a view of the result, if it can be one.
func (c *concats) place(o *operand) bool {
	if !o.find() || c.allocates[o.buffer] == nil || !c.mayMove(o) {
		return false
	}
	named := c.named(o.buffer)
	turned, undo := o.turn(c)
	if !turned || !o.lies() || slices.ContainsFunc(named, hasNoStrides) || slices.ContainsFunc(c.of[o.buffer], rearranges) {
		undo()
		return false
	}
	if o.slice != nil {
		c.program.Tensors = append(c.program.Tensors, o.slice.made...)
	}
	c.of[o.result] = append(c.of[o.result], c.of[o.buffer]...)
	c.allocateFirst(o)
	return true
}

// find finds the buffer behind the operand. It reports whether it is the program's own, and all of it is the operand.
func (o *operand) find() bool {
	in := o.in[o.number]
	whole, by := taken(in)
	o.whole, o.axis = whole, slices.Index(hostir.Live(o.out), o.joined.axis)
	if len(by) > len(o.by) || !o.aligned(in) {
		return false
	}
	like := o.out // that whole is a part of
	for i, sel := range by {
		if o.axis = beyond(o.by[i], sel, o.axis); o.axis < 0 {
			return false
		}
		like = o.by[i].In
	}
	if !alignedBut(whole, like, o.axis) || !o.through(o.by[len(by):]) {
		return false
	}
	return o.buffer.Role == hostir.Temp && o.buffer != o.result && o.buffer.DType == o.result.DType && o.buffer.Mesh.Same(o.result.Mesh) &&
		whole.Mesh.Same(o.result.Mesh)
}

// through finds what reshapes and permutes the buffer, and takes slices of it: as the result is taken from its own.
func (o *operand) through(by []*hostir.Select) bool {
	for o.buffer = o.whole; o.buffer.Of != nil; o.buffer = hostir.Uses(o.buffer.Of)[0] {
		switch of := o.buffer.Of.(type) {
		case *hostir.Reshape, *hostir.Permute:
			o.views = append(o.views, of)
		case *hostir.Select:
			if len(by) != 1 || by[0].Parts+of.Parts > 0 || by[0].Index.String() != of.Index.String() {
				return false
			}
			o.slice, by, o.views = &sliced{operand: o, views: o.views, cut: of, from: by[0]}, nil, nil
			if at := slices.Index(hostir.Live(o.result), o.slice.from.Axis); at <= o.axis {
				o.axis++
			}
		default:
			return false
		}
	}
	return len(by) == 0
}

// taken is what a slice is taken from, and by what, the innermost first.
func taken(t *hostir.Tensor) (whole *hostir.Tensor, by []*hostir.Select) {
	for {
		sel, selects := t.Of.(*hostir.Select)
		if !selects {
			return t, by
		}
		t, by = sel.In, append(by, sel)
	}
}

// beyond is which axis an axis of two slices is of what they are taken from; -1 where these are not taken alike, or along
// that axis.
func beyond(a, b *hostir.Select, axis int) int {
	at := slices.Index(hostir.Live(a.In), a.Axis)
	if at != slices.Index(hostir.Live(b.In), b.Axis) || a.Parts != b.Parts || a.Index.String() != b.Index.String() {
		return -1
	}
	switch {
	case a.Parts == 0 && at <= axis:
		return axis + 1
	case a.Parts > 0 && at == axis:
		return -1
	}
	return axis
}

// mayMove reports whether all that uses the buffer of an operand takes it with gaps, and what makes it has done so when it
// is copied.
func (c *concats) mayMove(o *operand) bool {
	made := false
	for _, s := range c.of[o.buffer] {
		if s == o.stmt {
			continue
		}
		if !takesGaps(s, o.buffer) || slices.ContainsFunc(hostir.Mentions(s), decides) {
			return false
		}
		if writesTo(s, o.buffer) {
			made = true
			if !c.earlier(s, o.buffer, o.stmt, o.in[o.number]) {
				return false
			}
		}
	}
	return made
}

// decides reports whether a condition decides what a tensor is a view of.
func decides(t *hostir.Tensor) bool {
	for t.Of != nil {
		if _, either := t.Of.(*hostir.Either); either {
			return true
		}
		t = hostir.Uses(t.Of)[0]
	}
	return false
}

// named lists what statements name of a buffer.
func (c *concats) named(buffer *hostir.Tensor) (list []*hostir.Tensor) {
	for _, s := range c.of[buffer] {
		for _, t := range hostir.Mentions(s) {
			if isIn(t, buffer) {
				list = append(list, t)
			}
		}
	}
	return list
}

// rearranges reports whether a statement copies into a view that a statement of its kind would make: written down, it would
// be that.
func rearranges(s hostir.Stmt) bool {
	of := hostir.Result(s).Of
	return hostir.MakesView(s) && of != nil && hostir.Op(of) == hostir.Op(s)
}

// allocateFirst allocates the result where it or an operand in it was, whichever came first.
func (c *concats) allocateFirst(o *operand) {
	body := c.program.Body
	operand, result := hostir.Stmt(c.allocates[o.buffer]), hostir.Stmt(c.allocates[o.result])
	at, own := slices.Index(body, operand), slices.Index(body, result)
	if own > at {
		body = slices.Delete(body, own, own+1)
		body[at] = result
	} else {
		body = slices.Delete(body, at, at+1)
	}
	c.program.Body = body
	delete(c.allocates, o.buffer)
}
