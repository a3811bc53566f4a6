package lowering

import "testing"

func TestHoistJoins(t *testing.T) { passCases(t, "hoist-joins") }
