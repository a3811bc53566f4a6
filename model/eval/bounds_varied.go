package eval

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// apart returns the distance of two results. Infinities of one sign are equal, and so are NaNs.
func apart(a, b float64) float64 {
	switch {
	case a == b || a != a && b != b:
		return 0
	case a != a || b != b:
		return math.Inf(1)
	default:
		return math.Abs(a - b)
	}
}

// combined applies a function to the pairs of elements of two arrays.
func combined(a, b *Array, fn func(v, e float64) float64) *Array {
	out := NewArray(a.Shape...)
	for i, v := range a.Data {
		out.Data[i] = fn(v, b.Data[i])
	}
	return out
}

// The ways to vary an element within its bound.
var (
	raised  = func(v, e float64) float64 { return middle(v, e) + e }
	lowered = func(v, e float64) float64 { return middle(v, e) - e }
	zeroed  = func(v, e float64) float64 { return choose(math.Abs(middle(v, e)) <= e, 0, v) }
	// finite replaces an infinite or NaN element with an infinite bound by 1, because it may also be a finite number.
	finite = func(v, e float64) float64 { return choose(math.IsInf(e, 1) && v-v != 0, 1, v) }
)

// middle returns the middle of the range of an element: its value, but 0 if it is NaN and its bound is infinite.
func middle(v, e float64) float64 { return choose(v != v && math.IsInf(e, 1), 0, v) }

func choose(holds bool, a, b float64) float64 {
	if holds {
		return a
	}
	return b
}

// widest evaluates the operation once for each way, with operands first to last varied in this way at the same time. It
// raises each bound to the largest distance of a result from raw.
func widest(bound, raw *Array, op *model.Op, in, e []*Array, first, last int, ways ...func(v, e float64) float64) {
	for _, way := range ways {
		moved := slices.Clone(in)
		for i := first; i <= last; i++ {
			moved[i] = combined(in[i], e[i], way)
		}
		for i, v := range doubles.evaluate(op, moved).Data {
			bound.Data[i] = max(bound.Data[i], apart(v, raw.Data[i]))
		}
	}
}

// mostTurned is the largest error of an angle, in radians, for which the ends of its range bound the error of its sine
// or cosine.
const mostTurned = 1.5

// missed is the factor for the bound of an uncertain integer. Its error is a whole number, so the errors of later
// roundings add to it and do not average out.
const missed = 1 + 1.0/16

// varied returns the results, in float64, of an operation that is neither a sum nor a GEMM nor an attention, and their
// bounds. jumps reports whether rounding may change a mask that the operation reads, a result of a function with
// NoGradient, or an integer result.
func varied(op *model.Op, in, e []*Array) (raw, bound *Array, jumps bool) {
	raw = doubles.evaluate(op, in)
	bound, other := NewArray(raw.Shape...), NewArray(raw.Shape...)
	name, constant := domain.SplitFn(op.Fn)
	fn := domain.FunctionOf(name)
	if op.Kind == model.OpUnary && constant == "" && !fn.Is(domain.Integers) {
		e = []*Array{combined(in[0], e[0], func(v, e float64) float64 { return e + choose(v-v == 0, spread*0x1p-23*math.Abs(v), 0) })}
	}
	like := []*model.Op{op}
	if op.Fn == "eq" { // eq changes where ge or gt changes
		least, more := *op, *op
		least.Fn, more.Fn = "ge", "gt"
		like = []*model.Op{&least, &more}
	}
	for _, op := range like {
		at, last := doubles.evaluate(op, in), len(in)-1
		if op.Kind == model.OpBinary && op.In[0] != op.In[1] {
			widest(other, at, op, in, e, 1, 1, raised, lowered, zeroed)
			last = 0
		}
		widest(bound, at, op, in, e, 0, last, raised, lowered, zeroed)
		widest(bound, at, op, in, e, 0, len(in)-1, finite)
	}
	if op.Out.DType.IsInteger() { // a cast, which makes an infinity a finite number
		bound = combined(bound, e[0], func(b, e float64) float64 { return choose(b > 0 && math.IsInf(e, 1), e, missed*b) })
	}
	if op.Fn == "sin" || op.Fn == "cos" { // within a wide range of angles the result may be any number from -1 to 1
		bound = combined(bound, e[0], func(b, e float64) float64 { return choose(e > mostTurned, max(b, 2), b) })
	}
	if op.Fn == "gelu_tanh" { // an epilogue of cuBLASLt adds 1 to a tanh near -1, which loses its last digits
		bound = combined(bound, in[0], func(b, v float64) float64 { return b + choose(v-v == 0, spread*0x1p-23*math.Abs(v), 0) })
	}
	decides := other
	if bound = combined(bound, other, math.Hypot); fn.Gradient == domain.NoGradient || op.Out.DType.IsInteger() {
		decides = bound
	} else if !slices.Contains([]string{"keep", "drop", "masked"}, op.Fn) {
		decides = &Array{}
	}
	if op.Fn == "prod" {
		away := func(sign float64) func(v, e float64) float64 {
			return func(v, e float64) float64 { return v + sign*math.Copysign(e, v) }
		}
		widest(bound, raw, op, in, e, 0, 0, away(1), away(-1))
	}
	return raw, bound, slices.ContainsFunc(decides.Data, func(e float64) bool { return e > 0 })
}
