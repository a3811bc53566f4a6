package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestTopKInKernels(t *testing.T) { lowertest.PassCases(t, "top-k-in-kernels", TopKInKernels) }
