package hostir

import "slices"

// Unmapped stands for an axis that does not exist. In an AxisMap it marks an axis of an operand without a counterpart in the
// result, such as a contracted one.
const Unmapped = -1

// AxisMap returns, for each operand of a statement (in the order of Uses) and each of its logical axes, the corresponding logical
// axis of the result, or Unmapped. Sharding and slicing use it. An axis of one element that is broadcast along the result is
// mapped, so its extent may differ. AxisMap is nil for a Select, an Either, a P2PCommunication, and statements without a result.
func AxisMap(s Stmt) [][]int {
	switch s := s.(type) {
	case *Set:
		return [][]int{aligned(s.In, s.Out, 0, 0)}
	case *PeerReadSum:
		return [][]int{aligned(s.In, s.Out, 0, 0)}
	case *Unary:
		return [][]int{aligned(s.In, s.Out, 0, 0)}
	case *Cast:
		return [][]int{aligned(s.In, s.Out, 0, 0)}
	case *Fused:
		return fusedAxes(s)
	case *Binary:
		return [][]int{aligned(s.A, s.Out, 0, 0), aligned(s.B, s.Out, 0, 0)}
	case *Matmul:
		return matmulAxes(s)
	case *Linear:
		return linearAxes(s)
	case *BlockLinear:
		return blockLinearAxes(s)
	case *Positions:
		return [][]int{}
	case *Gather:
		return gatherAxes(s)
	case *TopK:
		row := aligned(s.In, s.Out[0], 1, 1)
		return [][]int{row}
	case *Slice:
		return [][]int{besides(s.In, s.Out, Ranges(s)[0])}
	case *Concat:
		rows := make([][]int, len(s.In))
		for i, r := range Ranges(s) {
			rows[i] = besides(s.In[i], s.Out, r)
		}
		return rows
	case *Attention:
		return attentionAxes(s)
	case *Broadcast:
		return [][]int{skipping(s.In, s.Out, s.Axis)}
	case *Permute:
		return [][]int{permuted(s)}
	case *Reshape:
		return [][]int{reshaped(s.In, s.Out)}
	case *Reduce:
		return [][]int{dropping(s.In, s.Out, s.Axis)}
	case *Communication:
		if s.ReduceFn != "" {
			return [][]int{dropping(s.In, s.Out, SplitAxis(s.In, s.MeshAxis))}
		}
		return [][]int{aligned(s.In, s.Out, 0, 0)}
	default:
		return nil
	}
}

// unmapped returns a row of Unmapped for the axes of t.
func unmapped(t *Tensor) []int {
	row := make([]int, len(t.Axes))
	for i := range row {
		row[i] = Unmapped
	}
	return row
}

// aligned pairs the axes of in with those of out, from the last axis backwards. It skips the last inner axes of in and
// the last outer axes of out, and ignores reduced axes.
func aligned(in, out *Tensor, inner, outer int) []int {
	row, from, to := unmapped(in), Live(in), Live(out)
	for i := 1; inner+i <= len(from) && outer+i <= len(to); i++ {
		row[from[len(from)-inner-i]] = to[len(to)-outer-i]
	}
	return row
}

// matmulAxes returns the AxisMap of a Matmul. The batches and rows of A map to all axes of the result but the last. The
// columns of B map to the last axis, and the batches of B, if it has any, to the batches of the result.
func matmulAxes(s *Matmul) [][]int {
	columns := aligned(s.B, s.Out, 2, inner(s.OneRow))
	mapLast(columns, s.B, s.Out, 1)
	rows := [][]int{aligned(s.A, s.Out, 1, 1), columns}
	if s.Addend != nil {
		rows = append(rows, aligned(s.Addend, s.Out, 0, 0))
	}
	return rows
}

// linearAxes is like matmulAxes, for a weight that is stored as [n, k], and for an optional bias.
func linearAxes(s *Linear) [][]int {
	weight := aligned(s.W, s.Out, 2, inner(s.OneRow))
	mapLast(weight, s.W, s.Out, 2)
	rows := [][]int{aligned(s.X, s.Out, 1, 1), weight}
	if s.Bias != nil {
		bias := aligned(s.Bias, s.Out, 1, inner(s.OneRow))
		mapLast(bias, s.Bias, s.Out, 1)
		rows = append(rows, bias)
	}
	if s.Addend != nil {
		rows = append(rows, aligned(s.Addend, s.Out, 0, 0))
	}
	return rows
}

// blockLinearAxes maps rows and batches as linearAxes does. It maps no axis to the columns of the result. Each scale of
// T is for a whole block of W, so passes must not split the columns as they split other axes.
func blockLinearAxes(s *BlockLinear) [][]int {
	return [][]int{aligned(s.X, s.Out, 1, 1), aligned(s.W, s.Out, 2, 2), aligned(s.S, s.Out, 1, 1), aligned(s.T, s.Out, 2, 2)}
}

// gatherAxes returns the AxisMap of a Gather. The result has the axes of Table before the rows, the axes of IDs after the batches, and
// the other axes of Table. The batch axes of IDs, and the axes of First, map to the first axes of the result.
func gatherAxes(s *Gather) [][]int {
	maps, live, ids, out := make([][]int, len(Uses(s))), Live(s.Table), Live(s.IDs), Live(s.Out)
	for i, t := range Uses(s) {
		maps[i] = unmapped(t)
	}
	take := func(row, axes []int, from int) {
		for i := 0; i < len(axes) && from+i < len(out); i++ {
			row[axes[i]] = out[from+i]
		}
	}
	at, batches := max(slices.Index(live, s.Axis), 0), min(s.Batches, len(ids))
	take(maps[0], live[:at], 0)
	take(maps[1], ids[:batches], 0)
	take(maps[1], ids[batches:], at)
	take(maps[0], live[min(at+1, len(live)):], at+len(ids)-batches)
	if s.First != nil {
		take(maps[2], Live(s.First), 0)
	}
	return maps
}

// inner returns the number of axes of a GEMM's result that are not batch axes.
func inner(oneRow bool) int {
	if oneRow {
		return 1
	}
	return 2
}

// mapLast sets in row that an axis of in maps to the last axis of out. inner counts from 1 at the last axis of in.
// Reduced axes do not count.
func mapLast(row []int, in, out *Tensor, inner int) {
	from, to := Live(in), Live(out)
	if len(from) >= inner && len(to) > 0 {
		row[from[len(from)-inner]] = to[len(to)-1]
	}
}

// skipping maps the axes of in, in order, to the axes of out except the added one.
func skipping(in, out *Tensor, added int) []int {
	row, to, next := unmapped(in), Live(out), 0
	for _, from := range Live(in) {
		if next < len(to) && to[next] == added {
			next++
		}
		if next < len(to) {
			row[from] = to[next]
			next++
		}
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

// dropping maps all axes of in except the reduced one, which out may list as a Reduction axis or omit.
func dropping(in, out *Tensor, axis int) []int {
	row, to, next := unmapped(in), Live(out), 0
	for _, from := range Live(in) {
		if from != axis && next < len(to) {
			row[from] = to[next]
			next++
		}
	}
	return row
}

// reshaped maps the axes of more than one element that a reshape keeps: those with the same extent and the same number of
// elements after them in row-major order.
func reshaped(in, out *Tensor) []int {
	row, from, to := unmapped(in), Live(in), Live(out)
	behind := map[[2]int64]int{}
	size := int64(1)
	for i := len(to) - 1; i >= 0; i-- {
		extent := out.Axes[to[i]].Size
		if _, taken := behind[[2]int64{extent, size}]; !taken {
			behind[[2]int64{extent, size}] = to[i]
		}
		size *= extent
	}
	size = 1
	for i := len(from) - 1; i >= 0; i-- {
		extent := in.Axes[from[i]].Size
		if axis, ok := behind[[2]int64{extent, size}]; ok && extent > 1 {
			row[from[i]] = axis
		}
		size *= extent
	}
	return row
}

// MoveAxis adds by to the axis that a statement names, if another axis comes before this one. The other axis is axis in of the first
// operand. In a Broadcast or Concat, which name an axis of the result, it is axis out of the result. A negative axis is none.
func MoveAxis(s Stmt, in, out, by int) {
	var axis *int
	before := in
	switch s := s.(type) {
	case *Reduce:
		axis = &s.Axis
	case *Slice:
		axis = &s.Axis
	case *Gather:
		axis = &s.Axis
	case *Broadcast:
		axis, before = &s.Axis, out
	case *Concat:
		axis, before = &s.Axis, out
	default:
		return
	}
	if before >= 0 && before < *axis {
		*axis += by
	}
}
