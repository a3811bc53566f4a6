package domain

// Arithmetic computes the functions of operations in one kind of numbers. Unary and Binary return the function with a
// spelling, or nil for an unknown one. Programs use floating-point numbers. The prover uses numbers of a finite field,
// in which equal formulas give equal results whatever the order of their sums.
type Arithmetic struct {
	Unary  func(spelling string) func(v float64) float64 // the spelling may name a cast: see CastFn
	Binary func(name string) func(a, b float64) float64
	// Dropout returns the function that computes a dropout from the operands of Dropout.Of.
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
