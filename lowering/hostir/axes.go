package hostir

import "github.com/hirgen/hirgen/model/domain"

// Unmapped marks an axis of an operand that has no axis in the result: it is
// contracted, or broadcast.
const Unmapped = -1

// AxisMap says, for each operand of a compute statement (in the order of Uses) and
// each of its logical axes, which logical axis of the result runs along with it, or
// Unmapped. It is what sharding and slicing follow; an axis of one element that is
// broadcast along the result is mapped, so its extent may differ. Nil for
// statements that compute nothing.
func AxisMap(s Stmt) [][]int {
	switch s := s.(type) {
	case *Set:
		return [][]int{elementwise(s.In, s.Out)}
	case *Unary:
		return [][]int{elementwise(s.In, s.Out)}
	case *Cast:
		return [][]int{elementwise(s.In, s.Out)}
	case *Binary:
		return [][]int{elementwise(s.A, s.Out), elementwise(s.B, s.Out)}
	case *Matmul:
		return matmulAxes(s)
	case *Linear:
		return linearAxes(s)
	case *Broadcast:
		return [][]int{skipping(s.In, s.Out, s.Axis)}
	case *Permute:
		return [][]int{permuted(s)}
	case *Reshape:
		return [][]int{reshaped(s.In, s.Out)}
	case *Reduce:
		return [][]int{reduced(s)}
	case *Communication:
		return [][]int{elementwise(s.In, s.Out)}
	default:
		return nil
	}
}

// Live lists the logical axes of t that its buffer has: all but reduced ones.
func Live(t *Tensor) []int {
	live := make([]int, 0, len(t.Axes))
	for i, a := range t.Axes {
		if a.Kind != domain.Reduction {
			live = append(live, i)
		}
	}
	return live
}

// LocalShape is the shape of t's buffer on one rank, without reduced axes, in the
// logical order.
func LocalShape(t *Tensor) []int64 {
	shape := make([]int64, 0, len(t.Axes))
	for _, i := range Live(t) {
		shape = append(shape, t.Axes[i].LocalSize())
	}
	return shape
}

// unmapped gives a row of Unmapped for the axes of t.
func unmapped(t *Tensor) []int {
	row := make([]int, len(t.Axes))
	for i := range row {
		row[i] = Unmapped
	}
	return row
}

// elementwise aligns the axes from the last one, as NumPy broadcasts.
func elementwise(in, out *Tensor) []int {
	row, from, to := unmapped(in), Live(in), Live(out)
	for i := 1; i <= len(from) && i <= len(to); i++ {
		row[from[len(from)-i]] = to[len(to)-i]
	}
	return row
}

// leading maps the first n axes of in to the first n of out.
func leading(in, out *Tensor, n int) []int {
	row, from, to := unmapped(in), Live(in), Live(out)
	for i := 0; i < n && i < len(from) && i < len(to); i++ {
		row[from[i]] = to[i]
	}
	return row
}

func matmulAxes(s *Matmul) [][]int {
	a, b, out := Live(s.A), Live(s.B), Live(s.Out)
	rows := leading(s.A, s.Out, len(a)-1)
	columns := unmapped(s.B)
	if len(b) > 2 {
		columns = leading(s.B, s.Out, len(b)-2)
	}
	if len(b) > 0 && len(out) > 0 {
		columns[b[len(b)-1]] = out[len(out)-1]
	}
	return [][]int{rows, columns}
}

func linearAxes(s *Linear) [][]int {
	out := Live(s.Out)
	weight := unmapped(s.W)
	if w := Live(s.W); len(w) > 0 && len(out) > 0 {
		weight[w[0]] = out[len(out)-1]
	}
	rows := [][]int{leading(s.X, s.Out, len(Live(s.X))-1), weight}
	if s.Bias != nil {
		rows = append(rows, elementwise(s.Bias, s.Out))
	}
	return rows
}

// skipping maps the axes of in to those of out, leaving out the added one.
func skipping(in, out *Tensor, added int) []int {
	row, to := unmapped(in), 0
	for _, i := range Live(in) {
		if to == added {
			to++
		}
		if to < len(out.Axes) {
			row[i] = to
		}
		to++
	}
	return row
}

func permuted(s *Permute) []int {
	row, from, to := unmapped(s.In), Live(s.In), Live(s.Out)
	for i, p := range s.Perm {
		if i < len(to) && p >= 0 && p < len(from) {
			row[from[p]] = to[i]
		}
	}
	return row
}

// reduced maps every axis to itself, the reduced one to the result's r axis. The
// result's logical domain is that of the operand without its own reduced axes.
func reduced(s *Reduce) []int {
	row := unmapped(s.In)
	for to, from := range Live(s.In) {
		if to < len(s.Out.Axes) {
			row[from] = to
		}
	}
	return row
}

// reshaped maps the axes that a reshape leaves whole: those with the same extent
// and the same number of elements behind them.
func reshaped(in, out *Tensor) []int {
	row, from, to := unmapped(in), Live(in), Live(out)
	behind := map[[2]int64]int{}
	size := int64(1)
	for i := len(to) - 1; i >= 0; i-- {
		extent := out.Axes[to[i]].Extent.Size
		if _, taken := behind[[2]int64{extent, size}]; !taken {
			behind[[2]int64{extent, size}] = to[i]
		}
		size *= extent
	}
	size = 1
	for i := len(from) - 1; i >= 0; i-- {
		extent := in.Axes[from[i]].Extent.Size
		if axis, ok := behind[[2]int64{extent, size}]; ok && extent > 1 {
			row[from[i]] = axis
		}
		size *= extent
	}
	return row
}
