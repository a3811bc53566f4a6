package eval

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Fills returns the fill of each input that the spec sets or the operations require. Other inputs have no entry. The
// operand of a root or a logarithm and a divisor must be positive. If they are sums or products, their terms or factors must
// be positive, too. A mask needs zeros and ones.
func Fills(p *model.Pipeline) map[*model.Tensor]string {
	need := map[*model.Tensor]string{}
	demand := func(fill string, tensors ...*model.Tensor) {
		for _, t := range tensors {
			if fill != "" && need[t] == "" && !t.DType.IsInteger() {
				need[t] = fill
			}
		}
	}
	for _, op := range slices.Backward(p.Ops) {
		name, constant := domain.SplitFn(op.Fn)
		switch name {
		case "sqrt", "log", "rsqrt", "reciprocal":
			demand(domain.FillPositive, op.In...)
		case "div":
			demand(domain.FillPositive, op.In[1])
		case "keep", "drop", "masked":
			demand(domain.FillMask, op.In[1])
		}
		switch fill := need[op.Out]; {
		case op.Kind.Moves(), op.Kind == model.OpCast:
			demand(fill, op.In...)
		case fill != domain.FillPositive:
		case isProduct(op), op.Kind == model.OpReduce, constant != "" && !strings.HasPrefix(constant, "-"):
			demand(fill, op.In...)
		case slices.Contains([]string{"add", "mul", "div", "max", "min"}, name) && op.In[0] != op.In[1]:
			demand(fill, op.In...)
		}
	}
	fills := map[*model.Tensor]string{}
	for _, t := range p.Inputs {
		if fill := t.Fill; fill != "" {
			fills[t] = fill
		} else if need[t] != "" {
			fills[t] = need[t]
		}
	}
	return fills
}
