package inplace

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestMakeConcatOperandsInPlace(t *testing.T) {
	lowertest.PassCases(t, "make-concat-operands-in-place", MakeConcatOperandsInPlace)
}
