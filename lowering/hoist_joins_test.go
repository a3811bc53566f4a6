package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestHoistJoins(t *testing.T) { lowertest.PassCases(t, "hoist-joins", HoistJoins) }
