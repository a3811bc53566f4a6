package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestLastSumsInKernels(t *testing.T) {
	lowertest.PassCases(t, "last-sums-in-kernels", LastSumsInKernels)
}
