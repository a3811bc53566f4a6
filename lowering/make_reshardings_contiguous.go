package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MakeReshardingsContiguous gives the operand of a movement of data the layout of
// its result, by a local copy, where the two lay out the axes that stay in different
// orders: a collective moves memory as it lies.
//
// Requires: gathered axes are outermost.
// Establishes: both sides of a movement list their axes in one order.
//
//	before: B = Set(A)                       A layout [1, 0], B layout [0, 1]
//	after:  A_packed = Set(A); B = Set(A_packed)       A_packed layout [0, 1]
func MakeReshardingsContiguous(p *hostir.Program) error {
	names := newNamer(p)
	p.Body = hostir.Rewrite(p.Body, func(s hostir.Stmt) []hostir.Stmt {
		set, ok := s.(*hostir.Set)
		if !ok || !reshards(s) || len(set.In.Axes) != len(set.Out.Axes) {
			return []hostir.Stmt{s}
		}
		if from, to := stayingOrder(set.In, set.Out, hostir.AxisMap(s)[0]); slices.Equal(from, to) {
			return []hostir.Stmt{s}
		}
		packed := &hostir.Tensor{
			Name: names.fresh(set.In.Name + "_packed"), DType: set.In.DType, Axes: slices.Clone(set.In.Axes),
			Mesh: set.In.Mesh, Role: hostir.Temp, Layout: slices.Clone(layout(set.Out)), Pos: set.In.Pos,
		}
		p.Tensors = append(p.Tensors, packed)
		pack := &hostir.Set{Info: info(s, "in the order in which it moves"), Out: packed, In: set.In}
		set.In = packed
		return []hostir.Stmt{pack, set}
	})
	return nil
}
