package lowering

import "testing"

func TestAssignTransport(t *testing.T) { passCases(t, "assign-transport") }
