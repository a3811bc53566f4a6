package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MakeConcatOperandsInPlace computes operands of a concat directly in its result, so that they are not copied. The buffer
// of such an operand becomes a view of the result, also if reshapes and permutes come between. A concat without other
// operands disappears. Otherwise each other operand is copied separately. If a pipeline reads slices of whole operands,
// the operands are computed before the pipeline.
//
// The pass runs after the pipelines are lowered, because from then on any statement may write a view of another buffer.
// Statements that read slices of the result still read the same views. Before, each tensor must be the result of one
// statement, but several statements would compute the result of the concat.
//
// Requires: buffers are allocated, transfers between ranks are communications, and GEMMs have their additions.
// Establishes: an operand of a concat is not copied if place can make its buffer a view of the result. It has the same layout
// in the result as in its buffer, except for gaps.
//
//	before: R = Allocate; R = Unary(relu, A); P = Reshape(R); C = Allocate; C = Concat(P, B, axis 1)
//
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
	rest  map[hostir.Stmt][]hostir.Stmt // concat with operands in place -> the copies of its other operands
}

// joined is a concat: a Concat statement, or a kernel that only concatenates.
type joined struct {
	stmt hostir.Stmt
	out  *hostir.Tensor
	in   []*hostir.Tensor
	axis int // the axis of out along which it joins the operands
}

// joinedBy returns the concat of a statement, or nil if the statement does not only concatenate.
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

// aligned reports whether an operand has the axes of the result, except the axis of the concat.
func (j *joined) aligned(t *hostir.Tensor) bool {
	return alignedBut(t, j.out, slices.Index(hostir.Live(j.out), j.axis))
}

// alignedBut reports whether the axes of two buffers are split alike and, except for one axis, have equal sizes.
func alignedBut(t, other *hostir.Tensor, but int) bool {
	mine, others := hostir.Live(t), hostir.Live(other)
	if len(mine) != len(others) {
		return false
	}
	for i := range mine {
		a, b := t.Axes[mine[i]], other.Axes[others[i]]
		if i != but && a.Size != b.Size || hostir.SplitOver(a) != hostir.SplitOver(b) {
			return false
		}
	}
	return true
}

// inPlace makes operands of a concat in place, where possible. If it makes at least one in place, it copies the others.
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

// makesAlone reports whether no statement but the concat writes to a buffer.
func (c *concats) makesAlone(j *joined, buffer *hostir.Tensor) bool {
	return !slices.ContainsFunc(c.of[buffer], func(s hostir.Stmt) bool { return s != j.stmt && writesTo(s, buffer) })
}

// copied returns the statement that copies an operand to its part of the result.
func (c *concats) copied(j *joined, i int) hostir.Stmt {
	in := j.in[i]
	part := c.names.Declare(j.out, "_"+in.Name)
	part.Role, part.Pos = hostir.View, in.Pos
	axis := hostir.Live(in)[slices.Index(hostir.Live(j.out), j.axis)]
	part.Axes[j.axis].Extent = in.Axes[axis].Extent
	part.Of = &hostir.Slice{Info: hostir.InfoFrom(j.stmt, ""), Out: part, In: j.out, Axis: j.axis, Start: j.start(i)}
	set := &hostir.Set{Info: *j.stmt.Meta(), Out: part, In: in}
	c.add(set, c.sites[j.stmt])
	return set
}

// left returns the statements that replace s: the copies of a concat, and nothing for a loop that is empty.
func (c *concats) left(s hostir.Stmt) []hostir.Stmt {
	if rest, ok := c.rest[s]; ok {
		return rest
	}
	if loop, ok := s.(*hostir.For); ok && len(loop.Body) == 0 {
		return nil
	}
	return []hostir.Stmt{s}
}
