package eval

import "github.com/hirgen/hirgen/model"

// sure returns 1 for each maximum of an operand with bounds e if the ranges of all other elements are below the range of one
// element. Then this element is the maximum, whatever the errors are. It does the same for minima.
func sure(op *model.Op, in, e *Array) *Array {
	sign := choose(op.Fn == "min", -1, 1)
	inner, count := int64(1), in.Shape[op.Axis]
	for _, extent := range in.Shape[op.Axis+1:] {
		inner *= extent
	}
	out := doubles.evaluate(op, []*Array{in})
	for i := range out.Data {
		first := int64(i)/inner*count*inner + int64(i)%inner
		best := first
		for at := first; at < first+count*inner; at += inner {
			if sign*in.Data[at] > sign*in.Data[best] {
				best = at
			}
		}
		out.Data[i] = 1
		for at := first; at < first+count*inner; at += inner {
			if at != best && !(sign*in.Data[best]-e.Data[best] > sign*in.Data[at]+e.Data[at]) { // NaN is not above
				out.Data[i] = 0
			}
		}
	}
	return out
}

// found returns 1 for each result of eq that compares the maximum or minimum of a tensor, if it is sure, with the element
// that it is. Their errors are one error, so eq is 1, as in a top_k or the gradient of a maximum. It returns nil for other
// operations.
func (b *bounder) found(op *model.Op, in []*Array) *Array {
	if op.Fn != "eq" || b.known[op.In[1]].folded != op.In[0] {
		return nil
	}
	both := *op
	both.Fn = "mul"
	return doubles.evaluate(&both, []*Array{doubles.evaluate(op, in), b.known[op.In[1]].sure})
}
