package inplace

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestTurnParts(t *testing.T) {
	lowertest.PassCases(t, "turn-parts", TurnParts)
}
