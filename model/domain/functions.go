package domain

import (
	"math"
	"strings"
)

// A Function describes an elementwise function. The model, the passes, the emitter and the documentation read these rows, and
// runtime_cpp/include/hirgen/function_rows.hpp is written from them, so a new function is a new row.
type Function struct {
	Name     string
	Form     string // how a spec writes it; empty: "name(A)" or "name(A, B)"
	Doc      string // empty: the documentation of the row before also describes this function
	Unary    func(v float64) float64
	Binary   func(a, b float64) float64
	Constant bool // the second operand of Binary is a constant: the attribute "by"

	Cpp      string // C++ expression of a value v and the constant by, or of the values a and b
	CppAll   string // C++ statement on all values x of a thread, in place of Cpp
	Operator string // C++ operator that emitted kernels use; empty: they call the function

	// Gradient is the gradient as steps on the operand X, the result Y and its gradient dY; see Body.Text. Empty: model/grad has
	// a rule for the function, or the function has no gradient. NoGradient: the gradient is 0 wherever it exists.
	Gradient string
	// Epilogue is cuBLASLt's name of the function as an epilogue of a GEMM; empty if cuBLASLt does not have it.
	Epilogue string

	Traits Traits
}

// Traits is a set of properties of a function, one bit for each.
type Traits int

// The traits of functions.
const (
	Light    Traits = 1 << iota // takes few instructions
	Integers                    // maps small integers to small integers, if its constant, if any, is an integer
	Chooses                     // each result is, up to its sign, an operand, a constant, 0, 1 or infinity

	selects = Light | Integers | Chooses
)

// Is reports whether the function has a trait.
func (f Function) Is(trait Traits) bool { return f.Traits&trait != 0 }

// NoGradient is the gradient of functions that are constant wherever they have a derivative.
const NoGradient = "none"

// slope returns the gradient of a function whose derivative is a separate function: "relu_grad" for "relu".
func slope(fn string) string { return "Y_slope = " + fn + "_grad(X), dX = mul(dY, Y_slope)" }

// Functions lists the elementwise functions, in the order of the documentation.
var Functions = []Function{
	{
		Name:  "neg",
		Doc:   "element by element; gelu is the exact one, with erf, and gelu_tanh its approximation by tanh; softplus is log(1 + exp(A))",
		Unary: func(v float64) float64 { return -v }, Cpp: "-v", Gradient: "dX = neg(dY)", Traits: selects,
	},
	{
		Name: "relu", Unary: func(v float64) float64 { return math.Max(v, 0) }, Cpp: "v < 0.0F ? 0.0F : v",
		Gradient: slope("relu"), Epilogue: "CUBLASLT_EPILOGUE_RELU", Traits: selects,
	},
	{
		Name: "gelu", Unary: func(v float64) float64 { return v / 2 * (1 + math.Erf(v/math.Sqrt2)) }, Cpp: "v * normal_below(v, bell(v))",
		Gradient: slope("gelu"),
	},
	{
		Name: "silu", Unary: func(v float64) float64 { return v / (1 + math.Exp(-v)) }, Cpp: "quotient(v, 1.0F + expf(-v))",
		Gradient: slope("silu"),
	},
	{Name: "exp", Unary: math.Exp, Cpp: "expf(v)", Gradient: "dX = mul(dY, Y)"},
	{Name: "log", Unary: math.Log, Cpp: "logf(v)", Gradient: "dX = div(dY, X)"},
	{Name: "sin", Unary: math.Sin, CppAll: "turn<true>(x)", Gradient: "X_cos = cos(X), dX = mul(dY, X_cos)"},
	{Name: "cos", Unary: math.Cos, CppAll: "turn<false>(x)", Gradient: "X_sin = sin(X), dX_away = mul(dY, X_sin), dX = neg(dX_away)"},
	{Name: "sqrt", Unary: math.Sqrt, Cpp: "sqrtf(v)", Gradient: "dX_twice = div(dY, Y), dX = scale(0.5, dX_twice)"},
	{
		Name: "rsqrt", Unary: func(v float64) float64 { return 1 / math.Sqrt(v) }, Cpp: "1.0F / sqrtf(v)",
		Gradient: "Y_square = mul(Y, Y), Y_cube = mul(Y_square, Y), dX_twice = mul(dY, Y_cube), dX = scale(-0.5, dX_twice)",
	},
	{
		Name: "tanh", Unary: math.Tanh, Cpp: "tanhf(v)",
		Gradient: "Y_square = mul(Y, Y), Y_less = neg(Y_square), Y_slope = shift(1, Y_less), dX = mul(dY, Y_slope)",
	},
	{
		Name: "reciprocal", Unary: func(v float64) float64 { return 1 / v }, Cpp: "1.0F / v",
		Gradient: "Y_square = mul(Y, Y), dX_away = mul(dY, Y_square), dX = neg(dX_away)",
	},
	{
		Name: "sigmoid", Unary: func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }, Cpp: "quotient(1.0F, 1.0F + expf(-v))",
		Gradient: "Y_less = neg(Y), Y_rest = shift(1, Y_less), Y_slope = mul(Y, Y_rest), dX = mul(dY, Y_slope)",
	},
	{
		Name: "softplus", Unary: func(v float64) float64 { return math.Max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) },
		Cpp: "fmaxf(v, 0.0F) + log1pf(expf(-fabsf(v)))", Gradient: "X_share = sigmoid(X), dX = mul(dY, X_share)",
	},
	{Name: "abs", Unary: math.Abs, Cpp: "fabsf(v)", Gradient: "X_sign = sign(X), dX = mul(dY, X_sign)", Traits: selects},
	{
		Name: "gelu_tanh", Unary: func(v float64) float64 { return v / 2 * (1 + math.Tanh(geluArgument(v))) },
		Cpp: "v * gelu_tanh_share(v)", Gradient: slope("gelu_tanh"), Epilogue: "CUBLASLT_EPILOGUE_GELU",
	},
	{
		Name: "relu_grad", Doc: "their derivatives; `relu_grad` is 1 above 0, and 0 elsewhere",
		Unary: step, Cpp: "v > 0.0F ? 1.0F : v != v ? v : 0.0F", Gradient: NoGradient, Traits: selects,
	},
	{Name: "gelu_grad", Unary: geluGrad, Cpp: "gelu_grad(v)"},
	{Name: "silu_grad", Unary: siluGrad, Cpp: "silu_grad(v)"},
	{Name: "gelu_tanh_grad", Unary: geluTanhGrad, Cpp: "gelu_tanh_grad(v)"},
	{
		Name: "sign", Doc: "-1, 0 or 1; the nearest integer, of two the even one", Unary: sign,
		Cpp: "v > 0.0F ? 1.0F : v < 0.0F ? -1.0F : v", Gradient: NoGradient, Traits: selects,
	},
	{Name: "round", Unary: math.RoundToEven, Cpp: "rintf(v)", Gradient: NoGradient, Traits: Light | Integers},
	{
		Name: "ceil_pow2", Doc: "the smallest power of two, at least 2^-126, that is not below a positive number", Unary: ceilPow2,
		Cpp: "ceil_pow2(v)", Gradient: NoGradient,
	},
	{
		Name: "scale", Form: "scale(A, by=0.125)",
		Doc:    "times, or plus, a constant: a decimal number, or an expression such as 1/N, rounded to fp32",
		Binary: func(v, by float64) float64 { return v * by }, Constant: true, Cpp: "v * by", Operator: "*", Traits: Light | Integers,
	},
	{
		Name: "shift", Form: "shift(A, by=1e-5)", Binary: func(v, by float64) float64 { return v + by }, Constant: true,
		Cpp: "v + by", Operator: "+", Traits: Light | Integers,
	},
	{
		Name: "clamp_min", Form: "clamp_min(A, by=0)", Doc: "A, but at least, or at most, a constant; NaN stays NaN",
		Binary: func(v, by float64) float64 { return max(v, by) }, Constant: true, Cpp: "larger(v, by)", Traits: selects,
	},
	{
		Name: "clamp_max", Form: "clamp_max(A, by=6)", Binary: func(v, by float64) float64 { return min(v, by) }, Constant: true,
		Cpp: "smaller(v, by)", Traits: selects,
	},
	{
		Name: "add", Doc: "element by element; axes are aligned at the end, and an axis of one element stretches",
		Binary: func(a, b float64) float64 { return a + b }, Cpp: "a + b", Operator: "+", Traits: Light | Integers,
	},
	{Name: "sub", Binary: func(a, b float64) float64 { return a - b }, Cpp: "a - b", Operator: "-", Traits: Light | Integers},
	{Name: "mul", Binary: func(a, b float64) float64 { return a * b }, Cpp: "a * b", Operator: "*", Traits: Light | Integers},
	{Name: "div", Binary: func(a, b float64) float64 { return a / b }, Cpp: "a / b", Operator: "/"},
	{Name: "max", Binary: func(a, b float64) float64 { return max(a, b) }, Cpp: "larger(a, b)", Traits: selects},
	{Name: "min", Binary: func(a, b float64) float64 { return min(a, b) }, Cpp: "smaller(a, b)", Traits: selects},
	{
		Name: "ge", Doc: "1 where A >= B, A > B, A = B, and 0 elsewhere", Binary: func(a, b float64) float64 { return oneIf(a >= b) },
		Cpp: "a >= b ? 1.0F : 0.0F", Gradient: NoGradient, Traits: selects,
	},
	{
		Name: "gt", Binary: func(a, b float64) float64 { return oneIf(a > b) }, Cpp: "a > b ? 1.0F : 0.0F",
		Gradient: NoGradient, Traits: selects,
	},
	{
		Name: "eq", Binary: func(a, b float64) float64 { return oneIf(a == b) }, Cpp: "a == b ? 1.0F : 0.0F",
		Gradient: NoGradient, Traits: selects,
	},
	{
		Name: "keep", Form: "keep(A, mask)", Doc: "A where the mask, of any element type, is not 0, or where it is 0, and 0 elsewhere",
		Binary: func(a, b float64) float64 { return choose(b != 0, a, 0) }, Cpp: "b != 0.0F ? a : 0.0F", Traits: selects,
	},
	{
		Name: "drop", Form: "drop(A, mask)", Binary: func(a, b float64) float64 { return choose(b == 0, a, 0) },
		Cpp: "b == 0.0F ? a : 0.0F", Traits: selects,
	},
	{
		Name: "masked", Form: "masked(A, mask)", Doc: "A where the mask is not 0, and -infinity elsewhere, which a softmax ignores",
		Binary: func(a, b float64) float64 { return choose(b != 0, a, math.Inf(-1)) }, Cpp: "b != 0.0F ? a : -INFINITY",
		Traits: Light | Chooses,
	},
}

// Written returns how a spec writes the function: "add(A, B)".
func (f Function) Written() string {
	switch {
	case f.Form != "":
		return f.Form
	case f.Unary != nil:
		return f.Name + "(A)"
	}
	return f.Name + "(A, B)"
}

// A Fold is a reduction of an axis, or of the contributions of ranks.
type Fold struct {
	Name     string
	Fn       string // the function of two operands that combines elements
	Identity string // the result for no elements, in C++
	NCCL     string // its name in NCCL
}

// OrderMatters reports whether the order in which the fold combines three or more floats may change the bits of the result.
func (f Fold) OrderMatters() bool { return f.Fn == "add" || f.Fn == "mul" }

// DropsNaN reports whether NCCL may return a number when some ranks contribute NaN to the reduction.
func (f Fold) DropsNaN() bool { return f.Fn == "max" || f.Fn == "min" }

// Folds lists the reductions, in the order of the documentation.
var Folds = []Fold{
	{"sum", "add", "0.0F", "ncclSum"},
	{"max", "max", "-INFINITY", "ncclMax"},
	{"min", "min", "INFINITY", "ncclMin"},
	{"prod", "mul", "1.0F", "ncclProd"},
}

// FunctionOf returns the row of a function, or an empty one.
func FunctionOf(name string) Function {
	for _, f := range Functions {
		if f.Name == name {
			return f
		}
	}
	return Function{}
}

// FunctionNames lists the functions whose rows have a property.
func FunctionNames(has func(f Function) bool) []string {
	var names []string
	for _, f := range Functions {
		if has(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// FoldOf returns the row of a reduction, or an empty one.
func FoldOf(name string) Fold {
	for _, r := range Folds {
		if r.Name == name {
			return r
		}
	}
	return Fold{}
}

// Enumerator returns the name of a function's C++ enumerator in the runtime: "kGeluTanh" for "gelu_tanh".
func Enumerator(name string) string {
	text := "k"
	for word := range strings.SplitSeq(name, "_") {
		text += strings.ToUpper(word[:1]) + word[1:]
	}
	return text
}
