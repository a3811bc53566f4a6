package inplace

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestMakeLocalShardsInPlace(t *testing.T) {
	lowertest.PassCases(t, "make-local-shards-in-place", MakeLocalShardsInPlace)
}
