package domain

// CastFn spells the step of a kernel that converts a value to an element type and back to fp32: "cast(bf16)". The step
// rounds, and saturates for integers and fp8, as a cast does whose result is stored and read again.
func CastFn(t DType) string { return "cast(" + string(t) + ")" }

// CastOf returns the element type of a function that CastFn spells. ok is false for other functions.
func CastOf(fn string) (t DType, ok bool) {
	name, constant := SplitFn(fn)
	t = DType(constant)
	return t, name == "cast" && t.Row().Name == t
}

// Casts reports whether a step is a cast.
func (s Step) Casts() bool {
	_, ok := CastOf(s.Fn)
	return ok && len(s.Args) == 1
}

// Light reports whether a step takes few instructions for an element: a copy, a cast or a light function.
func (s Step) Light() bool {
	name, _ := SplitFn(s.Fn)
	return s.Fn == Copy || s.Casts() || FunctionOf(name).Is(Light)
}

// castIn returns the function of a cast in fp32, or nil for other spellings. The result for an integer beyond 2^24 is
// the nearest fp32 number.
func castIn(fn string) func(v float64) float64 {
	t, ok := CastOf(fn)
	if !ok {
		return nil
	}
	return func(v float64) float64 { return FP32.Round(t.Convert(v)) }
}
