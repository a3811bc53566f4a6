package eval

import (
	"math"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// logarithms are the logarithms of a tensor's elements, which are exponentials or sums of these, and bounds of their errors.
type logarithms struct {
	value, bound *Array
	summed       bool // of sums; bounds of exponentials lack the rounding of exp
}

const (
	// mostLogarithm limits the logarithm of a sum of exponentials together with its error: no such sum underflows or overflows in fp32.
	mostLogarithm = 80
	// ofExponential is the error of the logarithm of an exponential without errors: the relative error of exp(-mostLogarithm) in fp32.
	ofExponential = 0x1p-15
)

// logarithms returns the logarithms of a result, or nil. The logarithm of exp(x) is as far off as x. The logarithm of a sum of
// exponentials is as far off as if all exponentials were the largest or the smallest possible. The bound of the sum itself does not show
// this: an exponential may be many times as large, and a sum within such a bound may be 0. Only results in fp32 have logarithms, which
// moves keep. DeviceReference does the same.
func (b *bounder) logarithms(op *model.Op) *logarithms {
	in := b.known[op.In[0]]
	switch of := in.log; {
	case op.Out.DType != domain.FP32 || len(op.In) > 1:
		return nil
	case op.Kind == model.OpUnary && op.Fn == "exp":
		return &logarithms{in.value, in.bound, false}
	case of == nil:
		return nil
	case op.Kind.Moves():
		return &logarithms{doubles.evaluate(op, []*Array{of.value}), doubles.evaluate(op, []*Array{of.bound}), of.summed}
	case op.Kind == model.OpReduce && op.Fn == "sum":
		return of.sums(op)
	}
	return nil
}

// sums returns the logarithms of the sums that an operation makes of exponentials.
func (l *logarithms) sums(op *model.Op) *logarithms {
	added := func(way func(v, e float64) float64) *Array {
		terms := combined(l.value, l.bound, func(v, e float64) float64 { return math.Exp(way(v, e)) })
		sums := doubles.evaluate(op, []*Array{terms})
		return &Array{sums.Shape, lists.Map(sums.Data, math.Log)}
	}
	value, least, most := added(func(v, _ float64) float64 { return v }), added(lowered), added(raised)
	own := ofExponential + 2*spread*chopped*0x1p-23*math.Sqrt(float64(l.value.Shape[op.Axis])) // twice the error of adding
	bound := NewArray(value.Shape...)
	for i, v := range value.Data {
		bound.Data[i] = max(most.Data[i]-v, v-least.Data[i]) + own
	}
	return &logarithms{value, bound, true}
}

// ofLogarithm limits the bounds of a log by the bounds of its operand's logarithms.
func (b *bounder) ofLogarithm(op *model.Op, value, bound, leap *Array) {
	of := b.known[op.In[0]].log
	if op.Kind != model.OpUnary || op.Fn != "log" || of == nil || !of.summed {
		return
	}
	for i, e := range of.bound.Data {
		if math.Abs(value.Data[i])+e < mostLogarithm && e < bound.Data[i] {
			bound.Data[i], leap.Data[i] = e, min(leap.Data[i], e)
		}
	}
}

// ofDivisor returns the bounds of the operands of op, and the leaps of these. If the divisor is a sum of exponentials, it limits the
// divisor's bounds and leaps by the bounds of the sum's logarithm. A quotient moves farthest at the divisor's lower end, which is positive.
func (b *bounder) ofDivisor(op *model.Op, e, leaps []*Array) (limited, limitedLeaps []*Array) {
	if op.Kind != model.OpBinary || op.Fn != "div" || b.known[op.In[1]].log == nil || !b.known[op.In[1]].log.summed {
		return e, leaps
	}
	divisor, of := b.known[op.In[1]].value, b.known[op.In[1]].log.bound
	bound := combined(divisor, of, func(v, log float64) float64 {
		return choose(math.Abs(math.Log(v))+log < mostLogarithm, -v*math.Expm1(-log), math.Inf(1))
	})
	least := func(v, w float64) float64 { return min(v, w) }
	return []*Array{e[0], combined(e[1], bound, least)}, []*Array{leaps[0], combined(leaps[1], bound, least)}
}
