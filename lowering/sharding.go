package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// agree reports whether an axis of an operand and the axis of the result that runs
// along with it are held by the same ranks. One element that is broadcast along the
// result is everywhere.
func agree(operand, result domain.Axis) bool {
	if operand.Extent.Size == 1 && result.Extent.Size != 1 && operand.Kind != domain.Device {
		return true
	}
	return hostir.SplitOver(operand) == hostir.SplitOver(result)
}

// crossing lists the axes of an operand that are split over other ranks than the
// result's; row is the operand's row of hostir.AxisMap.
func crossing(operand, result *hostir.Tensor, row []int) []int {
	var axes []int
	for i, a := range operand.Axes {
		if row[i] != hostir.Unmapped && !agree(a, result.Axes[row[i]]) {
			axes = append(axes, i)
		}
	}
	return axes
}

// contracted lists the axes of an operand that are split over ranks and have no
// axis in the result: each rank would hold a partial result.
func contracted(operand *hostir.Tensor, row []int) []int {
	var axes []int
	for i, a := range operand.Axes {
		if row[i] == hostir.Unmapped && a.Kind == domain.Device {
			axes = append(axes, i)
		}
	}
	return axes
}

// reshards reports whether a statement's operand and result live on different ranks,
// so that the statement is a communication and not an operation of one rank.
func reshards(s hostir.Stmt) bool {
	switch s := s.(type) {
	case *hostir.Set:
		return len(crossing(s.In, s.Out, hostir.AxisMap(s)[0])) > 0 || !sameMesh(s.In, s.Out)
	case *hostir.Reduce:
		return s.In.Axes[s.Axis].Kind == domain.Device
	default:
		return false
	}
}

func sameMesh(a, b *hostir.Tensor) bool {
	return a.Mesh == nil || b.Mesh == nil || a.Mesh.Same(b.Mesh)
}

// streamAxis is the first Stream axis of t, or -1.
func streamAxis(t *hostir.Tensor) int {
	return slices.IndexFunc(t.Axes, func(a domain.Axis) bool { return a.Kind == domain.Stream })
}

// stayingOrder lists the axes that a movement of data leaves on their ranks, as axes
// of the result: in the order of the operand's buffer, and of the result's. Axes of
// one element lie anywhere and are left out.
func stayingOrder(in, out *hostir.Tensor, row []int) (from, to []int) {
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
