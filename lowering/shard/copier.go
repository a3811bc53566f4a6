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

// before makes s read a copy of operand k in the given layout, and returns the copy and s. If s runs as a pipeline, so does
// the copy. Otherwise the copy is made, and read, as a whole. There is one exception. If s scatters a Stream axis over ranks
// and its result has no Stream axis, the copy keeps the Stream axis, so that the scatter can become a pipeline.
func (c *copier) before(s hostir.Stmt, k int, layout []int) []hostir.Stmt {
	operands := hostir.Uses(s)
	in := operands[k]
	t := c.names.Declare(in, "_packed")
	t.Axes, t.Layout = alongside(s, k), layout
	pack := &hostir.Set{Info: hostir.InfoFrom(s, "copied into the order that "+hostir.Result(s).Name+" needs"), Out: t, In: in}
	for other := range operands { // other uses of the tensor that need the same axes read the copy, too
		if other == k || operands[other] == in && slices.Equal(alongside(s, other), t.Axes) {
			operands[other] = t
		}
	}
	hostir.ReplaceUses(s, operands)
	return []hostir.Stmt{pack, s}
}

// alongside returns the axes of a copy of operand k for s. The axis that corresponds to the Stream axis of the result
// becomes a Stream axis, unless it is split over ranks. Other Stream axes become Serial, apart from the exception in
// before.
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

// after makes s, the last statement of the list, write to a tensor in another layout, and copies that tensor to the result.
func (c *copier) after(list []hostir.Stmt, s hostir.Stmt, layout []int) []hostir.Stmt {
	out := hostir.Result(s)
	t := c.names.Declare(out, "_moved")
	t.Layout = layout
	hostir.ReplaceDef(s, out, t)
	return append(list, &hostir.Set{Info: hostir.InfoFrom(s, "back to the order of "+out.Name), Out: out, In: t})
}
