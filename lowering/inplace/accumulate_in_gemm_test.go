package inplace

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestAccumulateInGEMM(t *testing.T) {
	lowertest.PassCases(t, "accumulate-in-gemm", AccumulateInGEMM)
}
