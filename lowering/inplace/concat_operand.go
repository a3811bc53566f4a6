package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// operand is an operand of a concat. In a pipeline it is the slice of the current iteration.
type operand struct {
	*joined
	number int              // index among the operands of the concat
	result *hostir.Tensor   // the buffer of the concat's result
	by     []*hostir.Select // Selects that take the result from its buffer, the one nearest to the result first

	// whole is the tensor from which the operand is taken by Selects that equal the first ones of by; the operand
	// itself if no Selects take it.
	whole  *hostir.Tensor
	axis   int            // axis of the concat, counted among the axes of the result's buffer that are not reduced
	buffer *hostir.Tensor // the buffer of whole
	views  []hostir.Stmt  // from the buffer to whole or, with slice, to slice.cut.In; the last view first
	slice  *sliced        // set if slices are taken between the buffer and whole; else nil
}

// place makes the buffer of an operand a view of the result, and reports whether it can.
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

// find sets the underlying buffer of the operand and the views between them. It reports whether the buffer is a
// temporary with the type and the mesh of the result, and the operand covers all of it.
func (o *operand) find() bool {
	in := o.in[o.number]
	whole, by := taken(in)
	o.whole, o.axis = whole, slices.Index(hostir.Live(o.out), o.joined.axis)
	if len(by) > len(o.by) || !o.aligned(in) {
		return false
	}
	like := o.out // the tensor that whole is a part of
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

// through finds the buffer, the reshapes and permutes from the buffer to whole, and at most one slice in between. by
// has the Selects of the result without a counterpart in the operand. If there is a slice, its index must be that of
// the only Select in by; otherwise by must be empty. through reports whether that is so.
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

// taken returns the tensor that a slice is taken from, and the Selects that take it, the one nearest to the slice
// first.
func taken(t *hostir.Tensor) (whole *hostir.Tensor, by []*hostir.Select) {
	for {
		sel, selects := t.Of.(*hostir.Select)
		if !selects {
			return t, by
		}
		t, by = sel.In, append(by, sel)
	}
}

// beyond converts an axis of two slices to an axis of the tensors that they are taken from. It returns -1 if the slices
// are taken differently, or if they are parts along that axis.
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

// mayMove reports whether the buffer of an operand may become a view. Some statement must write the buffer, and all
// writes must precede the copy by the concat. All statements that use the buffer must support gaps, and name no view
// that a condition selects.
func (c *concats) mayMove(o *operand) bool {
	made := false
	for _, s := range c.of[o.buffer] {
		if s == o.stmt {
			continue
		}
		if !acceptsStrides(s, o.buffer) || slices.ContainsFunc(hostir.Mentions(s), decides) {
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

// decides reports whether a condition selects the tensor that t is a view of.
func decides(t *hostir.Tensor) bool {
	for t.Of != nil {
		if hostir.Is[*hostir.Either](t.Of) {
			return true
		}
		t = hostir.Uses(t.Of)[0]
	}
	return false
}

// named lists the tensors that statements name and that are a buffer or may be views of it.
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

// rearranges reports whether a statement copies into a view that the same kind of statement makes. In the text form,
// such a copy would be read back as the statement that makes the view.
func rearranges(s hostir.Stmt) bool {
	of := hostir.Result(s).Of
	return hostir.MakesView(s) && of != nil && hostir.Op(of) == hostir.Op(s)
}

// allocateFirst allocates the result at its own allocation or at the operand's, whichever comes first. It removes the
// allocation of the operand.
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
