package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestFindTurns(t *testing.T) {
	lowertest.PassCases(t, "find-turns", FindTurns)
}
