package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// agree reports whether an axis of an operand and the corresponding axis of the result are split over the same mesh axis, or
// neither is split. An unsplit operand axis of one element that is broadcast along the result agrees with any split.
func agree(operand, result domain.Axis) bool {
	if operand.Size == 1 && result.Size != 1 && operand.Kind != domain.Device {
		return true
	}
	return hostir.SplitOver(operand) == hostir.SplitOver(result)
}

// Crossing lists the axes of an operand whose split differs from the split of the corresponding axis of the result. row is
// the operand's row of hostir.AxisMap.
func Crossing(operand, result *hostir.Tensor, row []int) []int {
	var axes []int
	for i, a := range operand.Axes {
		if row[i] != hostir.Unmapped && !agree(a, result.Axes[row[i]]) {
			axes = append(axes, i)
		}
	}
	return axes
}

// Contracted lists the axes of an operand that are split over ranks and have no
// axis in the result: each rank would hold a partial result.
func Contracted(operand *hostir.Tensor, row []int) []int {
	var axes []int
	for i, a := range operand.Axes {
		if row[i] == hostir.Unmapped && a.Kind == domain.Device {
			axes = append(axes, i)
		}
	}
	return axes
}

// Reshards reports whether a statement is a Set whose operand and result differ in sharding or mesh, or
// a Reduce over a split axis. Such a statement is a communication, unless each rank only takes its part
// of a whole tensor (see Moves).
func Reshards(s hostir.Stmt) bool {
	switch s := s.(type) {
	case *hostir.Set:
		return len(Crossing(s.In, s.Out, hostir.AxisMap(s)[0])) > 0 || !SameMesh(s.In, s.Out)
	case *hostir.Reduce:
		return s.In.Axes[s.Axis].Kind == domain.Device
	default:
		return false
	}
}

// SameMesh reports whether two tensors are on one mesh. A tensor without a mesh matches every mesh.
func SameMesh(a, b *hostir.Tensor) bool {
	return a.Mesh == nil || b.Mesh == nil || a.Mesh.Same(b.Mesh)
}

// StayingOrder lists the axes that a movement of data leaves on their ranks, as axes of the result. The list from has the
// order of the operand's buffer, and the list to has the order of the result's buffer. It omits axes of one element, which
// may lie anywhere.
func StayingOrder(in, out *hostir.Tensor, row []int) (from, to []int) {
	stays := map[int]bool{}
	for _, i := range hostir.Layout(in) {
		if j := row[i]; j != hostir.Unmapped && in.Axes[i].LocalSize() > 1 && agree(in.Axes[i], out.Axes[j]) {
			from = append(from, j)
			stays[j] = true
		}
	}
	for _, j := range hostir.Layout(out) {
		if stays[j] {
			to = append(to, j)
		}
	}
	return from, to
}
