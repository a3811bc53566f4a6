package inplace

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestWriteSumsInPlace(t *testing.T) {
	lowertest.PassCases(t, "write-sums-in-place", WriteSumsInPlace)
}
