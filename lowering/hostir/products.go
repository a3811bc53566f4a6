package hostir

// Addend returns the tensor that a GEMM adds to its result; nil if it has none, and for other statements.
func Addend(s Stmt) *Tensor {
	switch s := s.(type) {
	case *Matmul:
		return s.Addend
	case *Linear:
		return s.Addend
	default:
		return nil
	}
}

// Epilogue returns the function that a GEMM applies to its result; empty if it has none, and for other statements.
func Epilogue(s Stmt) string {
	switch s := s.(type) {
	case *Matmul:
		return s.Then
	case *Linear:
		return s.Then
	default:
		return ""
	}
}

// SetEpilogue sets the function that a GEMM applies to its result. It ignores other statements.
func SetEpilogue(s Stmt, fn string) {
	switch s := s.(type) {
	case *Matmul:
		s.Then = fn
	case *Linear:
		s.Then = fn
	}
}

// SecondOperand returns the second operand of a GEMM, and the position of its column axis, counted from 1 at the last axis; nil
// and 0 for other statements.
func SecondOperand(s Stmt) (t *Tensor, columns int) {
	switch s := s.(type) {
	case *Matmul:
		return s.B, 1
	case *Linear:
		return s.W, 2
	case *BlockLinear:
		return s.W, 2
	default:
		return nil, 0
	}
}

// ShortRow is the alignment, in elements, of the summed extent of a GEMM with 8-bit operands: cuBLASLt requires a
// multiple of it.
const ShortRow = 16

// SummedAxes returns the axis of the first and of the second operand that a GEMM sums over.
func SummedAxes(s Stmt) (first, second int) {
	t, columns := SecondOperand(s)
	of, live := Live(Uses(s)[0]), Live(t)
	return of[len(of)-1], live[len(live)-3+columns]
}

// ColumnAxis returns the axis of a GEMM's second operand that becomes the last axis of the result.
func ColumnAxis(s Stmt) int {
	t, columns := SecondOperand(s)
	live := Live(t)
	return live[len(live)-columns]
}

// StreamsColumns reports whether the first Stream axis of a GEMM's result is its column axis. No pipeline supports that.
func StreamsColumns(s Stmt) bool {
	if second, _ := SecondOperand(s); second == nil {
		return false
	}
	out := Result(s)
	live := Live(out)
	return StreamAxis(out) == live[len(live)-1]
}
