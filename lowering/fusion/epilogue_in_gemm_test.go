package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestEpilogueInGEMM(t *testing.T) { lowertest.PassCases(t, "epilogue-in-gemm", EpilogueInGEMM) }
