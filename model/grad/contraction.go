package grad

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// contraction is the GEMM for the gradient of a second operand. It sums over rows and over the batches for which summed is
// true. A batch is an axis before the rows and columns; batches count from 0 in the result of the forward GEMM.
type contraction struct {
	b       *backward
	out     []domain.Axis // axes of the result of the forward GEMM
	batches int           // number of batch axes of out
	w       int           // number of batch axes of the second operand
	weight  []domain.Axis // axes of the second operand
}

// summed reports whether the second operand lacks batch i or has one element along it, so that its gradient is a sum over
// that batch.
func (c *contraction) summed(i int) bool {
	at := i - c.batches + c.w
	return at < 0 || stretchesTo(c.weight[at], c.out[i])
}

// merged chooses which summed batches become rows: those next to the rows, or all possible ones, if that moves fewer
// elements than the partial results have. Both operands must have every element of such a batch. A batch that is split
// over ranks in both operands stays a batch, whose partial results ranks add.
func (c *contraction) merged(left, right value) []int {
	can := func(i int) bool {
		return c.summed(i) && (c.out[i].Kind != domain.Device || !c.split(left, i) || !c.split(right, i)) &&
			c.has(left, i) && c.has(right, i)
	}
	var beside, all []int
	for i := c.batches - 1; i >= 0 && can(i); i-- {
		beside = slices.Insert(beside, 0, i)
	}
	for i := range c.batches {
		if can(i) {
			all = append(all, i)
		}
	}
	if len(all) == len(beside) {
		return beside
	}
	moved, partial := int64(0), last(left)*last(right)
	for _, v := range []value{left, right} {
		if !c.inOrder(v, all) {
			moved += count(v.axes)
		}
	}
	for i := range c.batches {
		if !slices.Contains(beside, i) {
			partial *= c.out[i].Size
		}
	}
	if moved < partial {
		return all
	}
	return beside
}

// at returns the index of batch i's axis among a value's axes. It is negative if the value lacks this axis.
func (c *contraction) at(v value, i int) int { return i - c.batches + len(v.axes) - 2 }

// has reports whether a value has the axis of batch i at its full extent.
func (c *contraction) has(v value, i int) bool {
	at := c.at(v, i)
	return at >= 0 && !stretchesTo(v.axes[at], c.out[i])
}

// hasRows reports whether a value has every element along the rows and the batches that the GEMM sums.
func (c *contraction) hasRows(v value) bool {
	for i := range c.batches {
		if c.summed(i) && !c.has(v, i) {
			return false
		}
	}
	return !stretchesTo(v.axes[len(v.axes)-2], c.out[c.batches])
}

// split reports whether a value is split over ranks along a batch.
func (c *contraction) split(v value, i int) bool {
	at := c.at(v, i)
	return at >= 0 && v.axes[at].Kind == domain.Device
}

// inOrder reports whether the batches that become rows are next to the rows in a value, apart from axes of one element.
func (c *contraction) inOrder(v value, merged []int) bool {
	for i := range c.batches {
		at := c.at(v, i)
		if !slices.Contains(merged, i) && len(merged) > 0 && i > merged[0] && at >= 0 && !isOne(v.axes[at]) {
			return false
		}
	}
	return true
}

// single reports whether a value has only one element along a batch, or lacks it.
func (c *contraction) single(v value, i int) bool {
	at := c.at(v, i)
	return at < 0 || isOne(v.axes[at])
}

// axes returns two lists of batch axes: along, with the extents of the forward result, and want, the axes to which weights
// fits the GEMM's result. Along a batch of which neither operand has several elements, want has one element, or no axis if
// both operands lack it. A merged batch has one element in both lists, or no axis if the second operand lacks it.
func (c *contraction) axes(merged []int, left, right value) (along, want []domain.Axis) {
	for i, axis := range c.out[:c.batches] {
		switch single := slices.Contains(merged, i); {
		case single && i < c.batches-c.w:
		case single:
			along, want = append(along, one), append(want, one)
		case c.has(left, i) || c.has(right, i):
			along, want = append(along, axis), append(want, axis)
		default:
			along = append(along, axis)
			if len(want) > 0 || c.at(left, i) >= 0 || c.at(right, i) >= 0 {
				want = append(want, one)
			}
		}
	}
	return along, want
}

// singles counts the merged batches right before the rows that are axes of one element in the second operand. If prepare
// keeps earlier batches without a permutation, it leaves an axis of one element for each of these merged batches, like
// the second operand.
func (c *contraction) singles(merged []int) int {
	n := 0
	for i := c.batches - 1; i >= c.batches-c.w && slices.Contains(merged, i); i-- {
		n++
	}
	return n
}

// prepare computes an operand of the GEMM: batches, then [columns, rows] if transposed, else [rows, columns]. A batch
// of one element after the first merged batch becomes rows, too, unless other has more elements along it. If batches become
// rows and all remaining batches have one element, these become rows, too.
func (c *contraction) prepare(v, other value, merged []int, transposed bool) value {
	n := len(v.axes)
	var kept, rows []int
	for i := range n - 2 {
		batch := i - (n - 2) + c.batches
		if slices.Contains(merged, batch) || len(merged) > 0 && batch > merged[0] && isOne(v.axes[i]) && c.single(other, batch) {
			rows = append(rows, i)
		} else {
			kept = append(kept, i)
		}
	}
	rows = append(rows, n-2)
	if len(rows) > 1 && !slices.ContainsFunc(kept, func(i int) bool { return !isOne(v.axes[i]) }) {
		rows, kept = append(kept, rows...), nil // kept axes have one element, so the order of elements stays
		slices.Sort(rows)
	}
	if rows[0] != len(kept) {
		perm, first := slices.Concat(kept, rows, []int{n - 1}), len(kept)
		if transposed {
			perm, first = slices.Concat(kept, []int{n - 1}, rows), len(kept)+1
		}
		return c.rows(c.b.named(v.name+"_t", permuted(v, perm)), first, len(rows), 0)
	}
	singles := 0
	if len(kept) > 0 {
		singles = c.singles(merged)
	}
	if v = c.rows(v, len(kept), len(rows), singles); !transposed {
		return v
	}
	perm := lists.Numbers(len(v.axes))
	n = len(perm)
	perm[n-2], perm[n-1] = n-1, n-2
	return c.b.named(v.name+"_t", permuted(v, perm))
}

// rows merges count axes, from index first on, into one axis. It inserts the given number of axes of one element before
// the merged axis. If count is 1, it returns v.
func (c *contraction) rows(v value, first, count, singles int) value {
	if count == 1 {
		return v
	}
	row := append(slices.Repeat([]domain.Axis{one}, singles), domain.Axis{Extent: domain.Merge(v.axes[first : first+count])})
	return c.b.named(v.name+"_rows", reshaped(v, slices.Replace(slices.Clone(v.axes), first, first+count, row...)))
}

func last(v value) int64 { return v.axes[len(v.axes)-1].Size }

func count(axes []domain.Axis) int64 {
	return lists.Product(axes, func(a domain.Axis) int64 { return a.Size })
}
