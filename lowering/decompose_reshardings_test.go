package lowering

import "testing"

func TestDecomposeReshardings(t *testing.T) { passCases(t, "decompose-reshardings") }
