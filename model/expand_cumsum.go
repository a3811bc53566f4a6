package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// cumsum(X) is the prefix sum along an axis, or the suffix sum with reverse, computed by a GEMM with a triangular
// matrix of ones. blockOfSum may split a long axis into blocks. Each result is then the cumsum in its block plus the
// sum of the earlier blocks, which is a cumsum of the sums of blocks.
func cumsum(e *expansion) {
	exclusive, known := e.boolAttribute("exclusive")
	reverse, knownToo := e.boolAttribute("reverse")
	if !known || !knownToo {
		e.broken()
		return
	}
	x, axes, out := e.arg(0), e.axesOf(0), e.src.out.value
	along := func(axis int, exclusive bool) []string {
		return []string{"axis", strconv.Itoa(axis), "exclusive", strconv.FormatBool(exclusive), "reverse", strconv.FormatBool(reverse)}
	}
	last, block := len(axes)-1, blockOfSum(axes[e.axis].Size)
	switch {
	case e.op.In[0].DType.IsInteger():
		sums := e.step("fp32", "cumsum", []string{x}, along(e.axis, exclusive)...)
		e.add(out, "cast", []string{sums}, []string{"dtype", string(e.op.In[0].DType)})
	case e.op.In[0].DType.Saturates():
		e.add(out, "cumsum", []string{x}, along(e.axis, exclusive))
	case e.op.In[0].DType != domain.FP32:
		e.resultBy("cumsum", []string{x}, along(e.axis, exclusive)...)
	case last == 0:
		row := e.step("row", "broadcast", []string{x}, "axis", "0")
		e.joined(e.step("sums", "cumsum", []string{row}, along(1, exclusive)...), axes)
	case e.axis < last-1:
		moved := e.fresh(out + "_moved")
		e.permute(moved, x, append(slices.Delete(lists.Numbers(last+1), e.axis, e.axis+1), e.axis))
		e.permute(out, e.step("sums", "cumsum", []string{moved}, along(last, exclusive)...), slices.Insert(lists.Numbers(last), e.axis, last))
	case block > 0:
		parts, next := domain.Extent{Size: axes[e.axis].Size / block}, strconv.Itoa(e.axis+1)
		blocks := e.shaped("blocks", x, nil, slices.Concat(axes[:e.axis], []domain.Axis{{Extent: parts}, {Extent: domain.Extent{Size: block}}},
			axes[e.axis+1:])...)
		sums := e.step("sums", "sum", []string{blocks}, "axis", next)
		before := e.step("before_b", "broadcast", []string{e.step("before", "cumsum", []string{sums}, along(e.axis, true)...)}, "axis", next)
		within := e.step("within", "cumsum", []string{blocks}, along(e.axis+1, exclusive)...)
		e.joined(e.step("all", "add", []string{within, before}), axes)
	case e.axis == last:
		e.add(out, "matmul", []string{x, e.triangle(x, exclusive, !reverse)}, nil)
	default:
		e.add(out, "matmul", []string{e.triangle(x, exclusive, reverse), x}, nil)
	}
}

// joined adds the reshape of in that computes the result. A result that is not declared gets the given axes, with their
// kinds.
func (e *expansion) joined(in string, axes []domain.Axis) {
	out := e.src.out.value
	e.reshape(out, in, axes)
	if t := e.a.tensors[out]; t != nil && !t.Annotated {
		t.Axes = axes
	}
}

// blockOfSum returns the number of elements of a block in a cumsum over an axis: the largest number from 16 to 128 that
// divides the extent. It returns 0 if the axis has at most 256 elements, or if there is no such number.
func blockOfSum(extent int64) int64 {
	const longest, most, least = 256, 128, 16
	for block := int64(most); block >= least && extent > longest; block-- {
		if extent%block == 0 {
			return block
		}
	}
	return 0
}

// triangle adds operations for a square matrix with ones on one side of the diagonal: above it if above is set, and else
// below it. The diagonal has ones unless exclusive is set, and all else is zeros. triangle returns the name of the matrix.
func (e *expansion) triangle(x string, exclusive, above bool) string {
	at := e.step("at", "positions", []string{x}, "axis", strconv.Itoa(e.axis))
	fn, sides := "ge", []string{e.step("at_b", "broadcast", []string{at}, "axis", "1"), at}
	if exclusive {
		fn = "gt"
	}
	if above {
		slices.Reverse(sides)
	}
	return e.step("ones", fn, sides)
}

// permute adds a permute operation: axis i of out is axis perm[i] of in.
func (e *expansion) permute(out, in string, perm []int) {
	e.add(out, "permute", []string{in}, nil, e.listed("perm", lists.Map(perm, strconv.Itoa)))
}

// listed returns an attribute whose value is a list.
func (e *expansion) listed(name string, values []string) sourceAttr {
	at := e.src.text
	return sourceAttr{name: at(name), list: true, values: lists.Map(values, at)}
}
