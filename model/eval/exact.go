package eval

import (
	"cmp"
	"math"
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// maxProducts is the largest number of GEMMs on a path for which sums of the integers of FillIntegers fit in the 24
// bits of fp32. Each GEMM multiplies their size by about 40.
const maxProducts = 3

// Exact reports whether the check of a pipeline is exact: its results for the inputs of FillIntegers depend neither on
// the order of sums nor on rounding between elementwise operations. It is false if that is not certain, or if the spec
// sets FillNormal or FillPositive.
func Exact(p *model.Pipeline) bool {
	asks := func(t *model.Tensor) bool { return t.Fill == domain.FillNormal || t.Fill == domain.FillPositive }
	if slices.ContainsFunc(p.Inputs, asks) || roundsBetween(p) {
		return false
	}
	// products has the number of GEMMs on the longest path to each tensor; mul adds up the numbers of its operands.
	products := make(map[*model.Tensor]int, len(p.Tensors))
	moved := map[*model.Tensor]*model.Tensor{} // maps a moved tensor to the tensor that its elements come from
	for _, op := range p.Ops {
		n := 0
		if op.Kind.Moves() && len(op.In) == 1 {
			moved[op.Out] = cmp.Or(moved[op.In[0]], op.In[0])
		}
		if isProduct(op) && squares(op, moved) {
			return false
		}
		for _, t := range op.In {
			n = max(n, products[t])
		}
		switch {
		case op.Kind == model.OpBlockLinear:
			n += 2 // the scales multiply, too
		case isProduct(op):
			n++
		case op.Kind == model.OpBinary && op.Fn == "mul":
			n = products[op.In[0]] + products[op.In[1]]
		case !keepsIntegers(op):
			return false
		}
		if n > maxProducts || n > 1 && sumsOverRanks(op) {
			return false
		}
		products[op.Out] = n
	}
	return true
}

// squares reports whether both operands of a GEMM with a 16-bit result have the elements of one tensor. Such a GEMM
// sums squares, which do not cancel. Its result needs more digits, and may be rounded on each rank and again after the
// sum over ranks.
func squares(op *model.Op, moved map[*model.Tensor]*model.Tensor) bool {
	return op.Out.DType.Epsilon() != domain.FP32.Epsilon() && cmp.Or(moved[op.In[0]], op.In[0]) == cmp.Or(moved[op.In[1]], op.In[1])
}

// sumsOverRanks reports whether ranks add up 16-bit numbers. A ring of ranks or NCCL rounds the partial sums to that
// type. After two GEMMs, the sums need more digits than the type has.
func sumsOverRanks(op *model.Op) bool {
	if op.Kind != model.OpReduce || op.Fn != "sum" || op.In[0].DType.Epsilon() == domain.FP32.Epsilon() {
		return false
	}
	return domain.WithoutReductions(op.In[0].Axes)[op.Axis].Kind == domain.Device
}

// keepsIntegers reports whether an operation other than a GEMM maps small integers to small integers.
func keepsIntegers(op *model.Op) bool {
	switch op.Kind {
	case model.OpUnary, model.OpBinary:
		return mapsIntegers(op, 16)
	case model.OpReduce:
		return op.Fn != "prod"
	case model.OpAttention, model.OpAttentionGrad, model.OpDropout:
		return false
	case model.OpPositions:
		return false // positions may be as large as the number of elements
	default:
		return true
	}
}

// mapsIntegers reports whether an elementwise function maps integers to integers. Its constant, if any, must be an integer of a
// size of up to most.
func mapsIntegers(op *model.Op, most float64) bool {
	name, constant := domain.SplitFn(op.Fn)
	by := 0.0
	if constant != "" {
		by, _ = domain.ParseDecimal(constant) // the loader has parsed it
	}
	return domain.FunctionOf(name).Is(domain.Integers) && by == math.Trunc(by) && math.Abs(by) <= most
}

// Deviations returns the standard deviation of the normal values that fill each input. It is 1, except for an input that is
// the second operand of GEMMs (a weight), directly or after moves, casts and a quantization. There it is 1 over the root of
// the number of terms in their longest sums, so that GEMMs do not grow the values along a pipeline. For the ids of a gather,
// which are no normal values, it is the number of rows of the table.
func Deviations(p *model.Pipeline) map[*model.Tensor]float64 {
	deviations, rows := make(map[*model.Tensor]float64, len(p.Inputs)), map[*model.Tensor]float64{}
	for _, op := range slices.Backward(p.Ops) {
		switch {
		case op.Kind == model.OpGather:
			rows[op.In[1]] = max(rows[op.In[1]], rowsOf(op))
		case op.Kind.Moves():
			for _, t := range op.In {
				rows[t] = max(rows[t], rows[op.Out])
			}
		}
	}
	for _, t := range p.Inputs {
		deviations[t] = max(rows[t], 1)
	}
	of := map[*model.Tensor][]*model.Tensor{} // the inputs whose elements a tensor has
	for _, t := range p.Inputs {
		if !t.DType.IsInteger() {
			of[t] = []*model.Tensor{t}
		}
	}
	for _, op := range p.Ops {
		switch {
		case op.Kind.Moves():
			for _, t := range op.In {
				of[op.Out] = append(of[op.Out], of[t]...)
			}
		case op.Kind == model.OpCast, op.Fn == "div": // a quantization divides by scales
			of[op.Out] = of[op.In[0]]
		case isProduct(op):
			for _, t := range of[op.In[1]] {
				deviations[t] = min(deviations[t], 1/math.Sqrt(float64(summed(op))))
			}
		}
	}
	return deviations
}

func isProduct(op *model.Op) bool {
	return op.Kind == model.OpMatmul || op.Kind == model.OpLinear || op.Kind == model.OpBlockLinear
}

// rowsOf returns the number of rows of a gather's table, in all blocks.
func rowsOf(op *model.Op) float64 {
	rows := float64(domain.Shape(op.In[0].Axes)[op.Axis])
	if len(op.In) > 2 {
		for _, n := range domain.Shape(op.In[2].Axes) {
			rows *= float64(n)
		}
	}
	return rows
}

// summed returns the number of terms in each sum of a GEMM. For an attention or its gradient it is the number of keys or
// the head size, whichever is larger, and for other operations 1.
func summed(op *model.Op) int64 {
	switch {
	case op.Kind == model.OpAttention:
		keys := domain.Shape(op.In[1].Axes)
		return max(keys[len(keys)-1], keys[len(keys)-2])
	case op.Kind == model.OpAttentionGrad:
		keys := domain.Shape(op.In[2].Axes)
		return max(keys[len(keys)-1], keys[len(keys)-2])
	case !isProduct(op):
		return 1
	}
	shape := domain.Shape(op.In[0].Axes)
	return shape[len(shape)-1]
}

// Wrong counts the elements of an output, or of a rank's shard, whose distance from want exceeds their bounds. Without
// bounds, the comparison is exact.
func Wrong(got, want, bounds []float64) int {
	wrong := 0
	for i, v := range got {
		if d := apart(v, want[i]); d > 0 && (len(bounds) == 0 || d > bounds[i]) {
			wrong++
		}
	}
	return wrong
}

// RootMeanSquare returns the root of the mean square of an array's elements.
func RootMeanSquare(a *Array) float64 {
	sum := 0.0
	for _, v := range a.Data {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(a.Data)))
}
