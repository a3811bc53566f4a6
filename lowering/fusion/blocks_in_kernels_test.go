package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestBlocksInKernels(t *testing.T) { lowertest.PassCases(t, "blocks-in-kernels", BlocksInKernels) }
