package shard

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// multipliably inserts copies of operands of the matmul that ends a list if no call can read their layout. It returns
// other lists unchanged. For example, a tensor that the program moved keeps the order of its source, which may be a
// permuted view.
func (c *contiguity) multipliably(list []hostir.Stmt) []hostir.Stmt {
	s := list[len(list)-1]
	if second, _ := hostir.SecondOperand(s); second == nil {
		return list
	}
	for k := range hostir.Uses(s) {
		if multipliable(s, k) {
			continue
		}
		row, loop := hostir.AxisMap(s)[k], hostir.StreamAxis(hostir.Result(s))
		order := inFront(logicalOrder(hostir.Uses(s)[k]), func(a int) int {
			if loop >= 0 && row[a] == loop {
				return 0
			}
			return 1
		})
		list = append(list[:len(list)-1], c.before(s, k, order)...)
	}
	return list
}

// multipliable reports whether some call can read operand k of a matmul in its layout. Each matrix of the second operand must
// be contiguous, by rows or by columns. In the first operand the summed axis must be innermost, or only rows may lie inside
// of it, in the order of the result. The last axis of a bias or an addend must be innermost. The operands of a
// BlockLinear must be row-major.
func multipliable(s hostir.Stmt, k int) bool {
	t, row := hostir.Uses(s)[k], hostir.AxisMap(s)[k]
	live, lies := hostir.Live(t), inProduct(s, t, row)
	inside := func(axis int) []int { return lies[slices.Index(lies, axis)+1:] }
	switch last := live[len(live)-1]; {
	case hostir.Is[*hostir.BlockLinear](s): // batches and rows in order, then the summed axis
		return slices.IsSorted(lies)
	case k == 1:
		matrix := lists.Except(live[len(live)-2:], func(a int) bool { return !slices.Contains(lies, a) })
		innermost := lies[len(lies)-len(matrix):]
		return !slices.ContainsFunc(matrix, func(a int) bool { return !slices.Contains(innermost, a) })
	case !slices.Contains(lies, last) || len(inside(last)) == 0:
		return true
	case k > 1:
		return false
	default:
		return areRows(s, row, inside(last))
	}
}

// inProduct lists the axes of an operand in the order of its layout, outermost first, without axes of one element and axes
// that a pipeline slices.
func inProduct(s hostir.Stmt, t *hostir.Tensor, row []int) []int {
	out := hostir.Result(s)
	return lists.Except(hostir.Layout(t), func(a int) bool {
		return t.Axes[a].LocalSize() == 1 || row[a] != hostir.Unmapped && out.Axes[row[a]].Kind == domain.Stream
	})
}

// areRows reports whether the given axes of a matmul's first operand, outermost first, are the innermost axes of the result
// except for the columns, and no other operand has them.
func areRows(s hostir.Stmt, row []int, axes []int) bool {
	out := hostir.Result(s)
	lies := inProduct(s, out, logicalOrder(out)) // the row that maps each axis of the result to itself
	columns := hostir.AxisMap(s)[1][hostir.ColumnAxis(s)]
	lies = slices.DeleteFunc(lies, func(a int) bool { return a == columns })
	if len(axes) > len(lies) {
		return false
	}
	for i, a := range lies[len(lies)-len(axes):] {
		if row[axes[i]] != a || hasAxis(s, a) {
			return false
		}
	}
	return true
}

// hasAxis reports whether an operand of a matmul other than the first has several elements along an axis of the result.
func hasAxis(s hostir.Stmt, axis int) bool {
	for k, t := range hostir.Uses(s)[1:] {
		i := slices.Index(hostir.AxisMap(s)[k+1], axis)
		if i >= 0 && t.Axes[i].LocalSize() > 1 {
			return true
		}
	}
	return false
}
