package inplace

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestMakeOutputsInPlace(t *testing.T) {
	lowertest.PassCases(t, "make-outputs-in-place", MakeOutputsInPlace)
}
