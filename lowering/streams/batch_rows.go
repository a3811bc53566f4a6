package streams

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// rowOfBatches reports whether a statement is a GEMM with batches, of which a pipeline along axis loop of the result
// takes one row each. The slices then have no row axis.
func rowOfBatches(s hostir.Stmt, loop int) bool {
	second, _ := hostir.SecondOperand(s)
	if second == nil {
		return false
	}
	live, of := hostir.Live(second), hostir.Live(hostir.Result(s))
	return len(of) > 1 && of[len(of)-2] == loop && slices.ContainsFunc(live[:len(live)-2], func(i int) bool {
		return second.Axes[i].LocalSize() > 1 || second.Axes[i].Kind == domain.Device
	})
}

// ofOneRow marks a GEMM in which each batch has a single row.
func ofOneRow(s hostir.Stmt) {
	switch s := s.(type) {
	case *hostir.Matmul:
		s.OneRow = true
	case *hostir.Linear:
		s.OneRow = true
	}
}
