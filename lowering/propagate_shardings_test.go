package lowering

import "testing"

func TestPropagateShardings(t *testing.T) { passCases(t, "propagate-shardings") }
