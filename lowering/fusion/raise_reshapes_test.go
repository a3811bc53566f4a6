package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestRaiseReshapes(t *testing.T) { lowertest.PassCases(t, "raise-reshapes", RaiseReshapes) }
