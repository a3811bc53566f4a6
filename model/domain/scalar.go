package domain

import (
	"math"
	"strconv"
	"strings"
)

// Round rounds v to fp32 and then to the element type, to the nearest value, ties to even. Beyond the largest value it
// returns an infinity or, for a type that saturates, the largest value, with the sign of v. For integer types it drops
// the fraction of v and limits it to the range of the type. NaN stays NaN, because it marks memory that nothing has
// written; Convert differs.
func (t DType) Round(v float64) float64 {
	row, single := t.Row(), float64(float32(v))
	switch {
	case t.IsInteger():
		return max(-t.Limit(), min(math.Trunc(v), t.Limit()-1)) + 0 // 0 in place of -0
	case row.Largest == 0:
		return single
	case t.Saturates():
		single = t.Saturate(single)
	}
	return roundTo(single, row.Digits, row.Least, row.Largest)
}

// Convert returns v as an operation that changes the element type stores it: Round(v), but 0 for NaN in an integer
// type.
func (t DType) Convert(v float64) float64 {
	if t.IsInteger() && math.IsNaN(v) {
		return 0
	}
	return t.Round(v)
}

// Limit returns the number of integers of an integer type that are at least 0: 2^31 or 2^63.
func (t DType) Limit() float64 { return math.Ldexp(1, int(8*t.Size()-1)) }

// Saturate limits a number to the range of a type that saturates. NaN stays NaN.
func (t DType) Saturate(v float64) float64 {
	largest := t.Row().Largest
	return max(-largest, min(v, largest))
}

// roundTo rounds v to a binary format with the given bits of the fraction, least exponent of a normal number and
// largest finite value. Beyond that value the result is infinite.
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

func geluGrad(v float64) float64 {
	return (1+math.Erf(v/math.Sqrt2))/2 + v*math.Exp(-v*v/2)/math.Sqrt(2*math.Pi)
}

func siluGrad(v float64) float64 {
	s := 1 / (1 + math.Exp(-v))
	return s * (1 + v*(1-s))
}

func geluTanhGrad(v float64) float64 {
	t := math.Tanh(geluArgument(v))
	return (1+t)/2 + v/2*(1-t*t)*math.Sqrt(2/math.Pi)*(1+3*geluCubic*v*v)
}

// geluArgument returns the argument of tanh in gelu_tanh. geluCubic is the coefficient of its cubic term.
func geluArgument(v float64) float64 { return math.Sqrt(2/math.Pi) * (v + geluCubic*v*v*v) }

const geluCubic = 0.044715

// UnaryFn returns a function of one operand by its spelling: the name, and the constant in parentheses if it has one:
// "gelu", "scale(0.125)". It returns nil for other spellings.
func UnaryFn(spelling string) func(float64) float64 {
	name, constant := SplitFn(spelling)
	f := FunctionOf(name)
	if constant == "" {
		return f.Unary
	}
	by, err := ParseDecimal(constant)
	if err != nil || !f.Constant {
		return nil
	}
	return func(v float64) float64 { return f.Binary(v, by) }
}

// Epilogue returns the unary function with a name, which a GEMM applies to its result. It returns the identity for an
// empty or unknown name.
func Epilogue(name string) func(float64) float64 {
	if fn := FunctionOf(name).Unary; fn != nil {
		return fn
	}
	return func(v float64) float64 { return v }
}

// SplitFn splits the spelling of a function: "scale(0.125)" into "scale" and "0.125". Without a constant the second
// part is empty.
func SplitFn(spelling string) (name, constant string) {
	name, rest, found := strings.Cut(spelling, "(")
	if constant, closed := strings.CutSuffix(rest, ")"); found && closed {
		return name, constant
	}
	return spelling, ""
}

// JoinFn spells a function with its constant, which it rounds to fp32: "scale(0.125)".
func JoinFn(name string, by float64) string {
	return name + "(" + strconv.FormatFloat(by, 'g', -1, 32) + ")"
}

// BinaryFn returns the function of two operands with a name, or the function with which a reduction combines elements. It
// returns nil for other names, also for functions with a constant.
func BinaryFn(name string) func(a, b float64) float64 {
	f := FunctionOf(name)
	if r := FoldOf(name); r.Fn != "" {
		f = FunctionOf(r.Fn)
	}
	if f.Constant {
		return nil
	}
	return f.Binary
}

// ceilPow2 rounds a positive number up to a power of two of fp32, at least 2^-126. It returns 0 and NaN unchanged.
func ceilPow2(v float64) float64 {
	bits := math.Float32bits(float32(v))
	if math.IsNaN(v) || bits == 0 {
		return v
	}
	return float64(math.Float32frombits((bits + 0x7fffff) & 0xff800000))
}

func oneIf(holds bool) float64 { return choose(holds, 1, 0) }

func choose(holds bool, a, b float64) float64 {
	if holds {
		return a
	}
	return b
}

// sign returns 1 for a positive number, -1 for a negative one, and otherwise the number: 0 or NaN.
func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v
}

// step returns 1 for a positive number, NaN for NaN, and 0 otherwise.
func step(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case math.IsNaN(v):
		return v
	}
	return 0
}
