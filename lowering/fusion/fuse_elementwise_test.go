package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestFuseElementwise(t *testing.T) { lowertest.PassCases(t, "fuse-elementwise", FuseElementwise) }
