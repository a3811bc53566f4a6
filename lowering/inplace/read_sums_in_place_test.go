package inplace

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestReadSumsInPlace(t *testing.T) { lowertest.PassCases(t, "read-sums-in-place", ReadSumsInPlace) }
