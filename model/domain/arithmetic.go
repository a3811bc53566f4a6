package domain

// Arithmetic has the functions of operations. Unary and Binary find a function by its spelling, and return nil for an
// unknown one. Programs compute in floating point. A proof computes with other numbers, such that equal formulas give
// equal results whatever the order of their sums.
type Arithmetic struct {
	Unary  func(spelling string) func(v float64) float64 // also of casts: CastFn
	Binary func(name string) func(a, b float64) float64
	// Dropout returns a function of the operands of Dropout.Of.
	Dropout func(d Dropout) func(operands []float64) float64
}

// Singles is the arithmetic of kernels: each result is rounded to fp32.
var Singles = Arithmetic{
	Unary: func(spelling string) func(float64) float64 {
		if cast := castIn(spelling); cast != nil {
			return cast
		}
		fn := UnaryFn(spelling)
		if fn == nil {
			return nil
		}
		return func(v float64) float64 { return FP32.Round(fn(v)) }
	},
	Binary: func(name string) func(a, b float64) float64 {
		fn := BinaryFn(name)
		if fn == nil {
			return nil
		}
		return func(a, b float64) float64 { return FP32.Round(fn(a, b)) }
	},
	Dropout: func(d Dropout) func([]float64) float64 {
		return func(operands []float64) float64 { return FP32.Round(d.Of(operands)) }
	},
}
