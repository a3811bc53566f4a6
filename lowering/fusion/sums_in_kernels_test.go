package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestSumsInKernels(t *testing.T) { lowertest.PassCases(t, "sums-in-kernels", SumsInKernels) }
