package domain

// Arithmetic is what the functions of operations compute, by their spelling; nil where there is no such
// function. Programs compute in floating point. A proof computes with other numbers, of which formulas
// give the same where they are the same formula, in whatever order they add.
type Arithmetic struct {
	Unary  func(spelling string) func(v float64) float64
	Binary func(name string) func(a, b float64) float64
	// Dropout is a dropout of what Dropout.Of has for an element.
	Dropout func(d Dropout) func(operands []float64) float64
}

// Singles is the arithmetic of kernels: each result is rounded to fp32.
var Singles = Arithmetic{
	Unary: func(spelling string) func(float64) float64 {
		fn := UnaryFn(spelling)
		if fn == nil {
			return nil
		}
		return func(v float64) float64 { return FP32.Round(fn(v)) }
	},
	Binary: func(name string) func(a, b float64) float64 {
		fn := BinaryFns[name]
		if fn == nil {
			return nil
		}
		return func(a, b float64) float64 { return FP32.Round(fn(a, b)) }
	},
	Dropout: func(d Dropout) func([]float64) float64 {
		return func(operands []float64) float64 { return FP32.Round(d.Of(operands)) }
	},
}
