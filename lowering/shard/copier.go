package shard

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// copier adds local copies around a statement, from one layout to another.
type copier struct {
	program *hostir.Program
	names   *hostir.Namer
}

// before makes operand k of s a copy in another layout, packed. Where s runs as a pipeline, so
// does the copy; where it does not, the copy is made, and read, at once. What is scattered along a
// Stream axis is left to the pipeline that may do it, unless the result has a pipeline of its own.
func (c *copier) before(s hostir.Stmt, k int, layout []int) []hostir.Stmt {
	operands := hostir.Uses(s)
	in := operands[k]
	t := c.like(in, "_packed", layout)
	t.Axes = alongside(s, k)
	pack := &hostir.Set{Info: hostir.InfoFrom(s, "in the order in which "+hostir.Op(s)+" reads it"), Out: t, In: in}
	for other := range operands { // where the same tensor is another operand, that may be read in another way
		if other == k || operands[other] == in && slices.Equal(alongside(s, other), t.Axes) {
			operands[other] = t
		}
	}
	hostir.ReplaceUses(s, operands)
	return []hostir.Stmt{pack, s}
}

// alongside gives the axes of operand k of s the Stream axis of the result, and no other.
func alongside(s hostir.Stmt, k int) []domain.Axis {
	in, row, out := hostir.Uses(s)[k], hostir.AxisMap(s)[k], hostir.Result(s)
	axes := slices.Clone(in.Axes)
	scattered := NoAxis
	if hostir.StreamAxis(out) < 0 && Reshards(s) {
		scattered = Describe(s).Scattered()
	}
	for i, j := range row {
		streams := j != hostir.Unmapped && out.Axes[j].Kind == domain.Stream
		switch a := &axes[i]; {
		case streams && a.Kind == domain.Serial:
			a.Kind = domain.Stream
		case !streams && a.Kind == domain.Stream && i != scattered:
			a.Kind = domain.Serial
		}
	}
	return axes
}

// after makes s, the last of the list, write in another layout, and copies from there.
func (c *copier) after(list []hostir.Stmt, s hostir.Stmt, layout []int) []hostir.Stmt {
	out := hostir.Result(s)
	t := c.like(out, "_moved", layout)
	hostir.ReplaceDef(s, out, t)
	return append(list, &hostir.Set{Info: hostir.InfoFrom(s, "back to the order of "+out.Name), Out: out, In: t})
}

// like declares a Temp like t in another layout. Reduced axes come with it.
func (c *copier) like(t *hostir.Tensor, suffix string, layout []int) *hostir.Tensor {
	n := &hostir.Tensor{
		Name: c.names.Fresh(t.Name + suffix), DType: t.DType, Axes: slices.Clone(t.Axes), Mesh: t.Mesh,
		Role: hostir.Temp, Layout: layout, Pos: t.Pos,
	}
	c.program.Tensors = append(c.program.Tensors, n)
	return n
}
