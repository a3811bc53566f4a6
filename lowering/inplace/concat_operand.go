package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
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
}

// place makes the buffer of an operand a view of the result, if it can be one.
func (c *concats) place(o *operand) bool {
	if !o.find() || c.allocates[o.buffer] == nil || !c.mayMove(o) {
		return false
	}
	named := c.named(o.buffer)
	undo := o.turn()
	if !o.lies() || slices.ContainsFunc(named, hasNoStrides) || slices.ContainsFunc(c.of[o.buffer], rearranges) {
		undo()
		return false
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
	if len(by) != len(o.by) || !o.aligned(in) {
		return false
	}
	for i, sel := range by {
		if o.axis = beyond(o.by[i], sel, o.axis); o.axis < 0 {
			return false
		}
	}
	o.buffer = whole
	for o.buffer.Of != nil {
		switch o.buffer.Of.(type) {
		case *hostir.Reshape, *hostir.Permute:
		default:
			return false
		}
		o.views = append(o.views, o.buffer.Of)
		o.buffer = hostir.Uses(o.buffer.Of)[0]
	}
	return o.buffer.Role == hostir.Temp && o.buffer != o.result && o.buffer.DType == o.result.DType && o.buffer.Mesh.Same(o.result.Mesh) &&
		whole.Mesh.Same(o.result.Mesh) && alignedBut(whole, o.result, o.axis)
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

// turn makes the operand a view of the result, and its buffer one of the operand; undo takes that back.
func (o *operand) turn() (undo func()) {
	type was struct {
		t    *hostir.Tensor
		of   hostir.Stmt
		role hostir.Role
	}
	var before []was
	set := func(t *hostir.Tensor, of hostir.Stmt) {
		before = append(before, was{t, t.Of, t.Role})
		t.Of, t.Role = of, hostir.View
	}
	info := hostir.InfoFrom(o.stmt, "made where "+o.result.Name+" has it")
	set(o.whole, &hostir.Slice{Info: info, Out: o.whole, In: o.result, Axis: hostir.Live(o.result)[o.axis], Start: o.start(o.number)})
	for _, s := range o.views {
		set(hostir.Uses(s)[0], reversed(s))
	}
	return func() {
		for _, w := range before {
			w.t.Of, w.t.Role = w.of, w.role
		}
	}
}

// reversed makes the operand of a reshape or a permute a view of its result.
func reversed(s hostir.Stmt) hostir.Stmt {
	info := hostir.InfoFrom(s, "")
	p, permutes := s.(*hostir.Permute)
	if !permutes {
		return &hostir.Reshape{Info: info, Out: hostir.Uses(s)[0], In: hostir.Result(s)}
	}
	perm := make([]int, len(p.Perm))
	for i, axis := range p.Perm {
		perm[axis] = i
	}
	return &hostir.Permute{Info: info, Out: p.In, In: p.Out, Perm: perm}
}

// start is where an operand begins along the axis of the concat.
func (j *joined) start(number int) domain.Extent {
	at := slices.Index(hostir.Live(j.out), j.axis)
	sum, size := expr.Expr(nil), int64(0)
	for _, t := range j.in[:number] {
		extent := t.Axes[hostir.Live(t)[at]].Extent
		sum, size = expr.Sum(sum, extent.Expr()), size+extent.Size
	}
	if sum == nil {
		return domain.Extent{}
	}
	if folded := expr.Fold(sum); folded != expr.Expr(expr.Int(size)) {
		return domain.Extent{Text: expr.Compact(folded), Size: size}
	}
	return domain.Extent{Size: size}
}

// mostAxes is how many axes kernels take of what is no run of memory.
const mostAxes = 8

// lies reports whether what was the buffer lies as before, but for gaps between runs of elements.
func (o *operand) lies() bool {
	w, err := hostir.WindowOf(o.buffer, anywhere)
	if err != nil || w.Whole {
		return false
	}
	stride, axes := int64(0), 0
	for _, axis := range hostir.Layout(o.buffer) {
		if w.Size[axis] == 1 {
			continue
		}
		if axes++; axes > 1 && w.Stride[axis] >= stride {
			return false
		}
		stride = w.Stride[axis]
	}
	return stride == 1 && axes <= mostAxes
}

// anywhere stands for the values of indices: strides do not depend on them.
func anywhere(expr.Expr) (int64, error) { return 0, nil }

// hasNoStrides reports whether no strides give the elements of a view.
func hasNoStrides(t *hostir.Tensor) bool {
	w, err := hostir.WindowOf(t, anywhere)
	return err != nil || w.Whole
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
