package eval

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

const (
	// chopped is the factor by which a sum of products may lose more than a rounded sum, because tensor cores truncate.
	chopped = 4
	// narrow is the error of a sum of products of fp8 numbers, relative to the root of the sum of the squared products. Tensor
	// cores add these products in fewer bits than fp32 has. On Hopper, sums of 256 products of normally distributed numbers had
	// errors of up to 2^-12.6 of the sum of their absolute values, about 2^-9.2 of that root. Longer sums had smaller errors.
	narrow = 0x1p-8
)

// added returns the results of a sum or a GEMM in float64, a second evaluation with other rounding errors, bounds, and
// their leaps.
func (b *bounder) added(op *model.Op, in, other, e, leaps []*Array) (results, others, bounds, leaped []*Array) {
	raw, moved := doubles.evaluate(op, in), doubles.evaluate(op, other)
	count, ranks, common, unsure := summed(op), b.ranks, 0.0, unsure(e)
	if op.Kind == model.OpReduce {
		count = in[0].Shape[op.Axis]
	}
	if count == 1 {
		ranks = 0
	}
	for i := range in {
		common += shared(in[i], e[i])
	}
	terms, bound := secondMoments(op, in, noise(e, leaps))
	leap := addedLeaps(op, in, e, leaps)
	epsilon := op.Out.DType.Epsilon()
	if op.In[0].DType.Computes() {
		epsilon = max(epsilon, op.In[0].DType.Epsilon())
	}
	partial := spread / 2 * math.Sqrt(ranks) * epsilon // about seven standard deviations of the errors of partial sums
	if op.In[0].DType.Saturates() {
		partial = math.Hypot(partial, narrow)
	}
	eps := math.Hypot(spread*chopped*math.Sqrt(float64(count))*0x1p-23, partial)
	for i, v := range raw.Data {
		if size := math.Hypot(math.Sqrt(terms.Data[i]), v); !math.IsInf(size, 0) && !math.IsNaN(size) {
			bound.Data[i] = math.Hypot(math.Hypot(math.Sqrt(bound.Data[i]), common*v), eps*size) + leap.Data[i]
			// The standard deviation is a seventh of partial * size. Uniform numbers would have no large values, from which
			// tighten would conclude that errors are small.
			moved.Data[i] += 0.35 * partial * size * (b.Float64() + b.Float64() - 1)
		} else {
			bound.Data[i] = unsure
		}
	}
	return []*Array{raw}, []*Array{moved}, []*Array{bound}, []*Array{leap}
}

// unsure returns the bound of infinite and NaN results: infinity if an operand has an element with an infinite bound,
// else 0.
func unsure(e []*Array) float64 {
	return choose(slices.ContainsFunc(e, func(e *Array) bool { return slices.Contains(e.Data, math.Inf(1)) }), math.Inf(1), 0)
}

// shared returns a relative error that all elements may have in common: the smallest relative bound of a nonzero
// element. It returns 0 if this bound is 1 or more, or if all elements are 0.
func shared(a, e *Array) float64 {
	least := math.Inf(1)
	for i, v := range a.Data {
		if v != 0 {
			least = min(least, e.Data[i]/math.Abs(v))
		}
	}
	return choose(least < 1, least, 0)
}

// secondMoments returns the sum of the squared terms of each result of a sum or a GEMM, and the sum of their squared
// bounds, as if these were independent.
func secondMoments(op *model.Op, in, e []*Array) (terms, noise *Array) {
	square := func(a *Array) *Array { return combined(a, a, func(v, w float64) float64 { return v * w }) }
	in, e = lists.Map(in, square), lists.Map(e, square)
	terms = doubles.evaluate(op, in)
	if !isProduct(op) {
		return terms, doubles.evaluate(op, e)
	}
	none := lists.Map(e[2:], func(bias *Array) *Array { return NewArray(bias.Shape...) })
	return terms, combined(doubles.evaluate(op, append([]*Array{in[0], e[1]}, e[2:]...)),
		doubles.evaluate(op, append([]*Array{e[0], combined(in[1], e[1], plus)}, none...)), plus)
}

// addedLeaps returns the sum of the leaps of the terms of each result of a sum or a GEMM.
func addedLeaps(op *model.Op, in, e, leaps []*Array) *Array {
	switch {
	case !some(leaps):
		return NewArray(domain.Shape(op.Out.Axes)...)
	case !isProduct(op):
		return doubles.evaluate(op, leaps)
	}
	none := lists.Map(leaps[2:], func(bias *Array) *Array { return NewArray(bias.Shape...) })
	return combined(doubles.evaluate(op, append([]*Array{leaps[0], size(in[1], e[1])}, leaps[2:]...)),
		doubles.evaluate(op, append([]*Array{size(in[0], combined(e[0], leaps[0], rest)), leaps[1]}, none...)),
		plus)
}

// size returns the largest absolute values of elements within their bounds.
func size(a, e *Array) *Array {
	return combined(a, e, func(v, e float64) float64 { return math.Abs(v) + e })
}
