package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestAddInGEMM(t *testing.T) { lowertest.PassCases(t, "add-in-gemm", AddInGEMM) }
