package place

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// way is one strategy of a statement along one mesh axis: the placements of its operands and of its results.
type way struct{ in, out []Placement }

// waysOf is the table of strategies: it lists the ways of a statement along a mesh axis with this number of ranks. The way in which
// each rank runs the whole statement is first.
//
//   - Whole: each rank does the same.
//   - Along an axis: all operands that have the axis are split along it. The others are whole.
//   - A matmul that sums over a split axis, or a Reduce along a split axis with any function, has a partial result. So has a gather of
//     rows of a split table.
//   - An operation that is linear in a partial sum has a partial sum as its result.
func waysOf(s hostir.Stmt, ranks int64) []way {
	ways := []way{whole(s)}
	if reshape, ok := s.(*hostir.Reshape); ok {
		ways = append(ways, blocks(reshape, ranks)...)
	} else {
		ways = append(ways, along(s, ranks)...)
	}
	ways = append(ways, sums(s, ranks)...)
	return append(ways, linear(s)...)
}

// whole returns the way in which each rank does the same.
func whole(s hostir.Stmt) way {
	return way{all(len(hostir.Uses(s)), Whole), all(len(hostir.Defs(s)), Whole)}
}

// all repeats a placement.
func all(n int, p Placement) []Placement { return slices.Repeat([]Placement{p}, n) }

// divides reports whether an axis can be split into equal blocks, one for each rank.
func divides(t *hostir.Tensor, axis int, ranks int64) bool {
	return t.Axes[axis].Size > 1 && t.Axes[axis].Size%ranks == 0
}

// along lists the ways that split an axis of the result.
func along(s hostir.Stmt, ranks int64) (ways []way) {
	switch s := s.(type) {
	case *hostir.Positions:
		return nil // a tensor of positions is small, so each rank computes all of it
	case *hostir.Attention:
		if s.Blocks() != hostir.Unmapped {
			return nil // another leading axis would be taken for the axis that counts blocks
		}
	}
	_, repeats := s.(*hostir.Broadcast) // a rank needs the whole operand for its part of the new axis
	results, operands := hostir.Defs(s), hostir.Uses(s)
	maps, further := hostir.AxisMap(s), hostir.FurtherMaps(s)
	for j := range results[0].Axes {
		w := way{out: []Placement{Placement(j)}}
		found := divides(results[0], j, ranks) && mayRunAlong(s, j, ranks)
		for i, t := range results[1:] {
			at := slices.Index(further[i], j)
			w.out, found = append(w.out, Placement(at)), found && at >= 0 && t.Axes[at].Size == results[0].Axes[j].Size
		}
		mapped := false
		for k, t := range operands {
			at := slices.Index(maps[k], j)
			if at >= 0 && t.Axes[at].Size != results[0].Axes[j].Size {
				at = hostir.Unmapped // its one element is broadcast
			}
			w.in, mapped = append(w.in, Placement(at)), mapped || at >= 0 || repeats
		}
		if found && mapped && fits(s, w) {
			ways = append(ways, w)
		}
	}
	return ways
}

// mayRunAlong reports whether an axis of the result may be split over ranks. The values of a fused operation can depend on the positions
// of its elements. So only its first axis may be split, and only if that has one element for each rank.
func mayRunAlong(s hostir.Stmt, axis int, ranks int64) bool {
	return !hostir.Is[*hostir.Fused](s) || axis == 0 && hostir.Result(s).Axes[0].Size == ranks
}

// fits reports whether a statement supports a way that splits it or makes it partial. In such a way of an attention or a fused
// operation no operand may be whole. The first operand of a matmul must have rows.
func fits(s hostir.Stmt, w way) bool {
	switch s.(type) {
	case *hostir.Attention, *hostir.Fused:
		return !slices.Contains(w.in, Whole)
	case *hostir.Matmul, *hostir.Linear, *hostir.BlockLinear:
		return len(hostir.Uses(s)[0].Axes) >= 2
	}
	return true
}

// blocks lists the ways that split a reshape. A reshape replaces groups of axes by groups with the same number of elements. The
// outermost blocks of both groups are the same, so that a way splits the first axis of each.
func blocks(s *hostir.Reshape, ranks int64) (ways []way) {
	i, j := 0, 0
	for i < len(s.In.Axes) && j < len(s.Out.Axes) {
		a, b := s.In.Axes[i].Size, s.Out.Axes[j].Size
		switch {
		case a == 1:
			i++
			continue
		case b == 1:
			j++
			continue
		}
		if divides(s.In, i, ranks) && divides(s.Out, j, ranks) {
			ways = append(ways, way{[]Placement{Placement(i)}, []Placement{Placement(j)}})
		}
		for a != b {
			if a < b {
				i++
				a *= s.In.Axes[i].Size
			} else {
				j++
				b *= s.Out.Axes[j].Size
			}
		}
		i, j = i+1, j+1
	}
	return ways
}

// sums lists the ways in which each rank reduces its own elements, so that the result is partial.
func sums(s hostir.Stmt, ranks int64) (ways []way) {
	switch s := s.(type) {
	case *hostir.Reduce:
		if divides(s.In, s.Axis, ranks) {
			return []way{{[]Placement{Placement(s.Axis)}, []Placement{Partial}}}
		}
	case *hostir.Gather: // sums of integers are fp32, and nothing adds fp8
		if s.First == nil && s.Out.DType.Computes() && divides(s.Table, s.Axis, ranks) {
			return []way{{[]Placement{Placement(s.Axis), Whole}, []Placement{Partial}}}
		}
	case *hostir.Matmul, *hostir.Linear:
		first, second := hostir.Uses(s)[0], hostir.Uses(s)[1]
		k, n := len(first.Axes)-1, len(second.Axes)-1
		if hostir.Is[*hostir.Matmul](s) {
			n--
		}
		w := way{[]Placement{Placement(k), Placement(n)}, []Placement{Partial}}
		if k >= 1 && n >= 0 && len(hostir.Uses(s)) == 2 && divides(first, k, ranks) && fits(s, w) {
			return []way{w}
		}
	}
	return nil
}

// linear lists the ways in which an operand is a partial sum, and so is the result.
func linear(s hostir.Stmt) []way {
	one := way{[]Placement{Partial}, []Placement{Partial}}
	left := way{[]Placement{Partial, Whole}, []Placement{Partial}}
	right := way{[]Placement{Whole, Partial}, []Placement{Partial}}
	switch s := s.(type) {
	case *hostir.Set, *hostir.Reshape, *hostir.Permute, *hostir.Broadcast, *hostir.Slice:
		return []way{one}
	case *hostir.Reduce:
		if s.Fn == "sum" {
			return []way{one}
		}
	case *hostir.Concat:
		return []way{{all(len(s.In), Partial), one.out}}
	case *hostir.Cast:
		if s.Out.DType == domain.FP32 {
			return []way{one}
		}
	case *hostir.Unary:
		if name, _ := domain.SplitFn(s.Fn); name == "neg" || name == "scale" {
			return []way{one}
		}
	case *hostir.Binary:
		switch s.Fn {
		case "add", "sub":
			return []way{{all(2, Partial), one.out}}
		case "mul":
			return []way{left, right}
		case "div":
			return []way{left}
		}
	case *hostir.Matmul, *hostir.Linear: // parts of other types are rounded, and the result would be rounded a second time
		var ways []way
		for k, w := range []way{left, right} {
			if len(hostir.Uses(s)) == 2 && hostir.Uses(s)[k].DType == domain.FP32 && fits(s, w) {
				ways = append(ways, w)
			}
		}
		return ways
	}
	return nil
}
