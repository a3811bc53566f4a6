package domain

import "math"

// Round returns the value of the element type that is nearest to v, ties to even;
// beyond the largest one it is infinite.
func (t DType) Round(v float64) float64 {
	single := float64(float32(v))
	switch t {
	case FP16:
		return roundTo(single, 10, -14, 65504)
	case BF16:
		return roundTo(single, 7, -126, 0x1.FEp127)
	default:
		return single
	}
}

// roundTo rounds to a binary format with the given bits after the point, least
// exponent of a normal number and largest finite value.
func roundTo(v float64, bits, least int, largest float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	_, e := math.Frexp(v)
	quantum := math.Ldexp(1, max(e-1, least)-bits)
	rounded := math.RoundToEven(v/quantum) * quantum
	if math.Abs(rounded) > largest {
		return math.Inf(int(math.Copysign(1, v)))
	}
	return rounded
}

// UnaryFns is what the functions of elementwise operations on one operand compute.
var UnaryFns = map[string]func(float64) float64{
	"neg":        func(v float64) float64 { return -v },
	"relu":       func(v float64) float64 { return math.Max(v, 0) },
	"gelu":       func(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) },
	"silu":       func(v float64) float64 { return v / (1 + math.Exp(-v)) },
	"exp":        math.Exp,
	"sqrt":       math.Sqrt,
	"rsqrt":      func(v float64) float64 { return 1 / math.Sqrt(v) },
	"tanh":       math.Tanh,
	"reciprocal": func(v float64) float64 { return 1 / v },
}

// BinaryFns is what the functions of elementwise operations on two operands, and of
// reductions, compute.
var BinaryFns = map[string]func(a, b float64) float64{
	"add":  func(a, b float64) float64 { return a + b },
	"sub":  func(a, b float64) float64 { return a - b },
	"mul":  func(a, b float64) float64 { return a * b },
	"div":  func(a, b float64) float64 { return a / b },
	"max":  math.Max,
	"min":  math.Min,
	"sum":  func(a, b float64) float64 { return a + b },
	"prod": func(a, b float64) float64 { return a * b },
}
