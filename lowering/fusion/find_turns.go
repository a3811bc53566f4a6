package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// mostKnown is the largest number of elements of a table that FindTurns computes.
const mostKnown = 4096

// FindTurns finds gathers whose IDs turn an axis: on the rank with coordinate j, element p of the IDs is (p + Turn * j) modulo the extent
// of the axis. It computes tables of positions for all ranks of a mesh axis, through reshapes and operations on elements.
//
// Requires: statements are not fused, and tensors have their Device axes.
// Establishes: such gathers have Turn.
//
//	before: Y = Gather(X, i, axis 1, batches 1)         i is (p + j) % 4, of positions p and j
//	after:  Y = Gather(X, i, axis 1, batches 1, turn 1)
func FindTurns(p *hostir.Program) error {
	if len(p.Meshes[0].Axes) != 1 {
		return nil
	}
	ranks := p.Meshes[0].Axes[0].Size
	known := map[*hostir.Tensor][][]float64{} // elements on each rank
	for _, s := range p.Body {
		out := hostir.Result(s)
		if out != nil && ranks*hostir.LocalElements(out) <= mostKnown && (out.Mesh == nil || out.Mesh.Same(p.Meshes[0])) {
			if values := valuesOf(s, int(ranks), known); values != nil {
				known[out] = values
			}
		}
		g, gathers := s.(*hostir.Gather)
		if gathers && g.First == nil && known[g.IDs] != nil && int64(len(known[g.IDs][0])) == g.Table.Axes[g.Axis].LocalSize() {
			g.Turn = turnOf(known[g.IDs])
		}
	}
	return nil
}

// turnOf returns the Turn of a gather by the elements of its IDs on each rank; 0 if they turn nothing.
func turnOf(ids [][]float64) int64 {
	n := len(ids[0])
	if len(ids) < 2 || ids[1][0] < 0 {
		return 0
	}
	turn := int(ids[1][0])
	for j, row := range ids {
		for p, id := range row {
			if int(id) != (p+turn*j)%n {
				return 0
			}
		}
	}
	return int64(turn)
}

// valuesOf returns the elements of the result of a statement on each rank, if they depend on positions alone; nil otherwise.
func valuesOf(s hostir.Stmt, ranks int, known map[*hostir.Tensor][][]float64) [][]float64 {
	itself := func(v ...float64) float64 { return v[0] }
	switch s := s.(type) {
	case *hostir.Positions:
		return counting(s.Out, ranks)
	case *hostir.Reshape:
		return applied(s.Out, itself, known, s.In)
	case *hostir.Cast:
		return applied(s.Out, itself, known, s.In)
	case *hostir.Unary:
		if fn := domain.UnaryFn(s.Fn); fn != nil {
			return applied(s.Out, func(v ...float64) float64 { return fn(v[0]) }, known, s.In)
		}
	case *hostir.Binary:
		if fn := domain.BinaryFn(s.Fn); fn != nil {
			return applied(s.Out, func(v ...float64) float64 { return fn(v[0], v[1]) }, known, s.A, s.B)
		}
	}
	return nil
}

// counting returns the positions along the only axis of a tensor on each rank.
func counting(out *hostir.Tensor, ranks int) [][]float64 {
	list := make([][]float64, ranks)
	for j := range list {
		first := 0
		if hostir.SplitOver(out.Axes[0]) != "" {
			first = j
		}
		for i := range out.Axes[0].LocalSize() {
			list[j] = append(list[j], float64(int64(first)+i))
		}
	}
	return list
}

// applied returns fn of the elements of operands on each rank, rounded to the type of the result. It returns nil if an operand is not
// known. Operands of fewer elements are broadcast.
func applied(out *hostir.Tensor, fn func(...float64) float64, known map[*hostir.Tensor][][]float64, in ...*hostir.Tensor) [][]float64 {
	if slices.ContainsFunc(in, func(t *hostir.Tensor) bool { return known[t] == nil }) {
		return nil
	}
	list := make([][]float64, len(known[in[0]]))
	shape, operands := hostir.LocalShape(out), make([]float64, len(in))
	for j := range list {
		for i := range hostir.LocalElements(out) {
			for k, t := range in {
				at := i
				if len(known[t][j]) < int(hostir.LocalElements(out)) {
					at = broadcastFrom(i, shape, hostir.LocalShape(t))
				}
				operands[k] = known[t][j][at]
			}
			list[j] = append(list[j], out.DType.Round(fn(operands...)))
		}
	}
	return list
}

// broadcastFrom returns the position of the element of an operand that element i of a result of the given shape reads.
func broadcastFrom(i int64, shape, operand []int64) int64 {
	at, stride := int64(0), int64(1)
	for axis := range slices.Backward(shape) {
		place := i % shape[axis]
		i /= shape[axis]
		if k := axis - len(shape) + len(operand); k >= 0 {
			if operand[k] > 1 {
				at += place * stride
			}
			stride *= operand[k]
		}
	}
	return at
}
