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

// plus and rest add a leap to a bound, and remove it from one. The rest of a bound that is all leap is 0, even if it is
// infinite.
func plus(e, leap float64) float64 { return e + leap }
func rest(e, leap float64) float64 { return choose(leap < e, e-leap, 0) }

// noise returns the parts of bounds that are not due to leaps.
func noise(e, leaps []*Array) []*Array {
	rests := make([]*Array, len(e))
	for i := range e {
		rests[i] = combined(e[i], leaps[i], rest)
	}
	return rests
}

// some reports whether any element has a leap.
func some(leaps []*Array) bool {
	return slices.ContainsFunc(leaps, func(a *Array) bool { return slices.ContainsFunc(a.Data, func(v float64) bool { return v > 0 }) })
}

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

// varied returns the results, in float64, of an operation that is neither a sum nor a GEMM nor an attention, their
// bounds, and the leaps of these. jumps reports whether rounding may change a mask that the operation reads, a result of
// a function with NoGradient, an integer result, or the sign of a zero at which the function has a pole.
func varied(op *model.Op, in, e, leaps []*Array) (raw, bound, leap *Array, jumps bool) {
	raw = doubles.evaluate(op, in)
	rests := noise(e, leaps)
	name, constant := domain.SplitFn(op.Fn)
	fn := domain.FunctionOf(name)
	if op.Kind == model.OpUnary && constant == "" && !fn.Is(domain.Integers) {
		rough := func(v, e float64) float64 { return e + choose(v-v == 0, spread*0x1p-23*math.Abs(v), 0) }
		e, rests = []*Array{combined(in[0], e[0], rough)}, []*Array{combined(in[0], rests[0], rough)}
	}
	bound, decided := around(op, raw, in, rests, false)
	leap = NewArray(raw.Shape...)
	if some(leaps) { // they add up in full: as far as the corners move away
		var far, near *Array
		far, decided = around(op, raw, in, e, true)
		near, _ = around(op, raw, in, rests, true)
		leap = combined(far, near, rest)
		bound = combined(bound, leap, plus)
	}
	if fn.Gradient == domain.NoGradient || op.Out.DType.IsInteger() {
		decided = bound
	} else if !slices.Contains([]string{"keep", "drop", "masked"}, op.Fn) {
		decided = &Array{}
	}
	for i, e := range decided.Data {
		if e > 0 {
			leap.Data[i], jumps = bound.Data[i], true
		}
	}
	return raw, bound, leap, jumps || atPole(op, raw, in, e)
}

// around returns the largest distances from raw of the results with operands within their bounds e, and the distances due
// to the second operand alone. The errors of two operands are independent, unless corners is set: then it
// evaluates the operation at all combinations of their ends.
func around(op *model.Op, raw *Array, in, e []*Array, corners bool) (bound, second *Array) {
	first, second := NewArray(raw.Shape...), NewArray(raw.Shape...)
	like := []*model.Op{op}
	if op.Fn == "eq" { // eq changes where ge or gt changes
		least, more := *op, *op
		least.Fn, more.Fn = "ge", "gt"
		like = []*model.Op{&least, &more}
	}
	for _, op := range like {
		at, last := doubles.evaluate(op, in), len(in)-1
		if op.Kind == model.OpBinary && op.In[0] != op.In[1] {
			widest(second, at, op, in, e, 1, 1, raised, lowered, zeroed)
			last = 0
			for _, way := range []func(v, e float64) float64{raised, lowered} {
				if corners {
					widest(first, at, op, []*Array{combined(in[0], e[0], way), in[1]}, e, 1, 1, raised, lowered)
				}
			}
		}
		widest(first, at, op, in, e, 0, last, raised, lowered, zeroed)
		widest(first, at, op, in, e, 0, len(in)-1, finite)
	}
	if corners {
		bound = combined(first, second, func(v, w float64) float64 { return max(v, w) })
	} else {
		bound = combined(first, second, math.Hypot)
	}
	switch {
	case op.Out.DType.IsInteger(): // a cast, which makes an infinity a finite number
		bound = combined(bound, e[0], func(b, e float64) float64 { return choose(b > 0 && math.IsInf(e, 1), e, b) })
	case op.Fn == "sin" || op.Fn == "cos": // within a wide range of angles the result may be any number from -1 to 1
		bound = combined(bound, e[0], func(b, e float64) float64 { return choose(e > mostTurned, max(b, 2), b) })
	case op.Fn == "gelu_tanh": // an epilogue of cuBLASLt adds 1 to a tanh near -1, which loses its last digits
		bound = combined(bound, in[0], func(b, v float64) float64 { return b + choose(v-v == 0, spread*0x1p-23*math.Abs(v), 0) })
	case op.Fn == "prod":
		away := func(sign float64) func(v, e float64) float64 {
			return func(v, e float64) float64 { return v + sign*math.Copysign(e, v) }
		}
		widest(bound, raw, op, in, e, 0, 0, away(1), away(-1))
	}
	return bound, second
}

// atPole reports whether a result is infinite because the last operand is 0, if the sign of this 0 is not certain: results
// at the other side of the pole differ.
func atPole(op *model.Op, raw *Array, in, e []*Array) bool {
	if op.Kind != model.OpUnary && op.Kind != model.OpBinary ||
		!slices.ContainsFunc(raw.Data, func(v float64) bool { return math.IsInf(v, 0) }) {
		return false
	}
	last := len(in) - 1
	beside := func(least float64) *Array {
		near := combined(in[last], e[last], func(v, e float64) float64 { return choose(v == 0 && e > 0, least, v) })
		return doubles.evaluate(op, append(slices.Clone(in[:last]), near))
	}
	above, below := beside(0x1p-126), beside(-0x1p-126)
	for i, v := range raw.Data {
		if math.IsInf(v, 0) && apart(above.Data[i], below.Data[i]) > 0 {
			return true
		}
	}
	return false
}
