package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MakeConcatOperandsInPlace lets operands of a concat be made where they lie in its result, so that nothing is copied: the
// buffer of such an operand, through what reshapes and permutes it, becomes a view of the result. A concat that has no
// other operands goes; otherwise those are copied one by one. In a pipeline that has slices of whole operands, these are
// made in front of it.
//
// It runs behind the pipelines. A tensor whose memory is elsewhere is a view there already, which any statement may write,
// and whoever reads slices of it still does. In front of them the result would be made in parts, by several statements.
//
// Requires: buffers are allocated, what crosses ranks is a communication, and GEMMs add what they are to add.
// Establishes: no operand of a concat is copied that kernels or attentions make, and nothing needs as one run of memory.
// Each lies in the result as it did in its buffer, but for gaps.
//
//	before: R = Allocate; R = Unary(relu, A); P = Reshape(R); C = Allocate; C = Concat(P, B, axis 1)
//	after:  C = Allocate; R = Unary(relu, A), with R = Reshape(P), P = Slice(C, axis 1, start 0); C_B = Set(B)
func MakeConcatOperandsInPlace(p *hostir.Program) error {
	c := &concats{users: usersOf(p), names: hostir.NewNamer(p), rest: map[hostir.Stmt][]hostir.Stmt{}}
	for _, s := range c.statements {
		if j := joinedBy(s); j != nil {
			c.inPlace(j)
		}
	}
	if len(c.rest) > 0 {
		p.Body = hostir.Rewrite(p.Body, c.left)
	}
	return nil
}

// concats makes operands of concats in place.
type concats struct {
	*users
	names *hostir.Namer
	rest  map[hostir.Stmt][]hostir.Stmt // of concats that have operands in place: copies of the others
}

// joined is a concat, be it a kernel that does nothing else.
type joined struct {
	stmt hostir.Stmt
	out  *hostir.Tensor
	in   []*hostir.Tensor
	axis int // of out
}

// joinedBy is the concat that a statement is, or nil.
func joinedBy(s hostir.Stmt) *joined {
	switch s := s.(type) {
	case *hostir.Concat:
		return &joined{s, s.Out, s.In, s.Axis}
	case *hostir.Fused:
		if len(s.Body) != 1 || !s.Body[0].Concats() {
			return nil
		}
		j := &joined{stmt: s, out: s.Out[0], axis: s.Along(0)}
		for _, at := range s.Body[0].Args {
			t := s.In[at]
			if t.DType != j.out.DType || !j.aligned(t) {
				return nil // it converts an operand, or repeats its elements
			}
			j.in = append(j.in, t)
		}
		return j
	}
	return nil
}

// aligned reports whether an operand has the axes of the result, but for that of the concat.
func (j *joined) aligned(t *hostir.Tensor) bool {
	return alignedBut(t, j.out, slices.Index(hostir.Live(j.out), j.axis))
}

// alignedBut reports whether tensors have the same axes, but for one of those that their buffers have.
func alignedBut(t, other *hostir.Tensor, but int) bool {
	mine, others := hostir.Live(t), hostir.Live(other)
	if len(mine) != len(others) {
		return false
	}
	for i := range mine {
		a, b := t.Axes[mine[i]], other.Axes[others[i]]
		if i != but && a.Extent.Size != b.Extent.Size || hostir.SplitOver(a) != hostir.SplitOver(b) {
			return false
		}
	}
	return true
}

// inPlace makes the operands of a concat in place that can be, and has the others copied if there was one.
func (c *concats) inPlace(j *joined) {
	buffer, by := taken(j.out)
	if c.allocates[buffer] == nil || c.sites[j.stmt].branches || !c.makesAlone(j, buffer) {
		return
	}
	var copied []int
	for i := range j.in {
		o := &operand{joined: j, number: i, result: buffer, by: by}
		if !c.place(o) {
			copied = append(copied, i)
		}
	}
	if len(copied) == len(j.in) {
		return
	}
	c.rest[j.stmt] = nil
	for _, i := range copied {
		c.rest[j.stmt] = append(c.rest[j.stmt], c.copied(j, i))
	}
}

// makesAlone reports whether a concat alone writes to a buffer.
func (c *concats) makesAlone(j *joined, buffer *hostir.Tensor) bool {
	return !slices.ContainsFunc(c.of[buffer], func(s hostir.Stmt) bool { return s != j.stmt && writesTo(s, buffer) })
}

// copied copies an operand to its place in the result.
func (c *concats) copied(j *joined, i int) hostir.Stmt {
	in := j.in[i]
	part := &hostir.Tensor{
		Name: c.names.Fresh(j.out.Name + "_" + in.Name), DType: j.out.DType, Axes: slices.Clone(j.out.Axes), Mesh: j.out.Mesh, Role: hostir.View,
		Layout: slices.Clone(j.out.Layout), Pos: in.Pos,
	}
	axis := hostir.Live(in)[slices.Index(hostir.Live(j.out), j.axis)]
	part.Axes[j.axis].Extent = in.Axes[axis].Extent
	part.Of = &hostir.Slice{Info: hostir.InfoFrom(j.stmt, ""), Out: part, In: j.out, Axis: j.axis, Start: j.start(i)}
	c.program.Tensors = append(c.program.Tensors, part)
	set := &hostir.Set{Info: *j.stmt.Meta(), Out: part, In: in}
	c.add(set, c.sites[j.stmt])
	return set
}

// left is what is left of a statement: the copies of a concat, and nothing of a loop without any.
func (c *concats) left(s hostir.Stmt) []hostir.Stmt {
	if rest, ok := c.rest[s]; ok {
		return rest
	}
	if loop, ok := s.(*hostir.For); ok && len(loop.Body) == 0 {
		return nil
	}
	return []hostir.Stmt{s}
}
