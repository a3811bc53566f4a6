package hostir

// Addend is what a GEMM adds to its result; nil where there is none, and for other statements.
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

// Epilogue is the function that a GEMM applies to its result; empty where there is none, and for other
// statements.
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

// SetEpilogue lets a GEMM apply a function to its result.
func SetEpilogue(s Stmt, fn string) {
	switch s := s.(type) {
	case *Matmul:
		s.Then = fn
	case *Linear:
		s.Then = fn
	}
}

// SecondOperand is that of a product, and which of its axes, counted from the end, are columns of
// the result; nil for other statements.
func SecondOperand(s Stmt) (t *Tensor, columns int) {
	switch s := s.(type) {
	case *Matmul:
		return s.B, 1
	case *Linear:
		return s.W, 2
	default:
		return nil, 0
	}
}

// ColumnAxis is the axis of a product's second operand that is its result's last one.
func ColumnAxis(s Stmt) int {
	t, columns := SecondOperand(s)
	live := Live(t)
	return live[len(live)-columns]
}

// StreamsColumns reports whether the Stream axis of a product's result runs along the columns of the
// second operand, which no pipeline can do.
func StreamsColumns(s Stmt) bool {
	second, _ := SecondOperand(s)
	loop := StreamAxis(Result(s))
	return second != nil && loop >= 0 && AxisMap(s)[1][ColumnAxis(s)] == loop
}
