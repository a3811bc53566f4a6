package eval

import (
	"math"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// roundsBetween reports whether an operation may read, element by element, a result that is too large to be exact in its
// type. The value then depends on whether both operations are fused into one kernel, which does not round between them.
func roundsBetween(p *model.Pipeline) bool {
	largest, rounded := make(map[*model.Tensor]float64, len(p.Tensors)), map[*model.Tensor]bool{}
	products := map[*model.Tensor]bool{} // results of GEMMs that may be rounded
	for _, t := range p.Inputs {
		largest[t] = 2
	}
	for _, op := range p.Ops {
		largest[op.Out] = largestOf(op, largest)
		if !rowWise(op) {
			isRounded := largest[op.Out] > 2/op.Out.DType.Epsilon()
			products[op.Out] = isProduct(op) && isRounded
			rounded[op.Out] = op.Kind == model.OpReduce && op.Fn == "sum" && isRounded // the next kernel may sum the parts itself, without rounding
			continue
		}
		if op.Fn == "add" && lists.AnyIn(op.In, products) {
			return true // the GEMM may add the other operand before it rounds
		}
		if lists.AnyIn(op.In, rounded) {
			return true
		}
		rounded[op.Out] = largest[op.Out] > 2/op.Out.DType.Epsilon() && !chooses(op)
	}
	return false
}

// rowWise reports whether an operation works element by element, or reduces a serial last axis.
func rowWise(op *model.Op) bool {
	switch op.Kind {
	case model.OpUnary, model.OpBinary, model.OpCast, model.OpDropout:
		return true
	case model.OpReduce:
		axes := domain.WithoutReductions(op.In[0].Axes)
		return op.Axis == len(axes)-1 && axes[op.Axis].Kind == domain.Serial
	default:
		return false
	}
}

// largestOf estimates the largest element of a result from the largest elements of earlier tensors, for GEMMs and
// operations that keepsIntegers accepts.
func largestOf(op *model.Op, largest map[*model.Tensor]float64) float64 {
	a := largest[op.In[0]]
	name, constant := domain.SplitFn(op.Fn)
	by, _ := domain.ParseDecimal(constant)
	switch {
	case isProduct(op):
		bias := 0.0
		if len(op.In) > 2 {
			bias = largest[op.In[2]]
		}
		return a*largest[op.In[1]]*float64(summed(op)) + bias
	case op.Kind == model.OpReduce && name == "sum":
		return a * float64(domain.WithoutReductions(op.In[0].Axes)[op.Axis].Size)
	case name == "scale":
		return a * math.Abs(by)
	case name == "shift":
		return a + math.Abs(by)
	case op.Kind == model.OpUnary && constant != "":
		return max(a, math.Abs(by))
	case op.Kind == model.OpBinary && name == "mul":
		return a * largest[op.In[1]]
	case op.Kind == model.OpBinary && (name == "add" || name == "sub"):
		return a + largest[op.In[1]]
	case op.Kind == model.OpBinary:
		return max(a, largest[op.In[1]], 1)
	default:
		for _, t := range op.In[1:] { // of a concat or a gather
			a = max(a, largest[t])
		}
		return max(a, 1)
	}
}

// chooses reports whether the elements of a result are, up to sign, elements of the operands, a constant, 0, 1 or infinity,
// in the type of the operands.
func chooses(op *model.Op) bool {
	name, _ := domain.SplitFn(op.Fn)
	switch op.Kind {
	case model.OpUnary, model.OpBinary:
		return domain.FunctionOf(name).Is(domain.Chooses)
	case model.OpReduce:
		return name == "max" || name == "min"
	default:
		return false
	}
}
