package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// copier adds local copies around a statement, from one layout to another.
type copier struct {
	program *hostir.Program
	names   *namer
}

// before makes operand k of s a copy in another layout, packed. Where s runs as a pipeline, so
// does the copy; where it does not, the copy is made, and read, at once. What is scattered along a
// Stream axis is left to the pipeline that may do it.
func (c *copier) before(s hostir.Stmt, k int, layout []int) []hostir.Stmt {
	in, row, out := hostir.Uses(s)[k], hostir.AxisMap(s)[k], hostir.Result(s)
	t := c.like(in, "_packed", layout)
	for i, j := range row {
		streams := j != hostir.Unmapped && out.Axes[j].Kind == domain.Stream
		switch a := &t.Axes[i]; {
		case streams && a.Kind == domain.Serial:
			a.Kind = domain.Stream
		case !streams && a.Kind == domain.Stream && !(reshards(s) && describe(s).scattered() == i):
			a.Kind = domain.Serial
		}
	}
	pack := &hostir.Set{Info: info(s, "in the order in which "+s.Op()+" reads it"), Out: t, In: in}
	operands := hostir.Uses(s) // the same tensor may be another operand, too, which is read in another way
	operands[k] = t
	hostir.ReplaceUses(s, operands)
	return []hostir.Stmt{pack, s}
}

// after makes s, the last of the list, write in another layout, and copies from there.
func (c *copier) after(list []hostir.Stmt, s hostir.Stmt, layout []int) []hostir.Stmt {
	out := hostir.Result(s)
	t := c.like(out, "_moved", layout)
	hostir.SubstituteDefs(s, func(*hostir.Tensor) *hostir.Tensor { return t })
	return append(list, &hostir.Set{Info: info(s, "back to the order of "+out.Name), Out: out, In: t})
}

// like declares a Temp like t in another layout. Reduced axes come with it.
func (c *copier) like(t *hostir.Tensor, suffix string, layout []int) *hostir.Tensor {
	n := &hostir.Tensor{
		Name: c.names.fresh(t.Name + suffix), DType: t.DType, Axes: slices.Clone(t.Axes), Mesh: t.Mesh,
		Role: hostir.Temp, Layout: layout, Pos: t.Pos,
	}
	c.program.Tensors = append(c.program.Tensors, n)
	return n
}
