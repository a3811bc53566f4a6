package lowering

import "testing"

func TestSetAllocationDomains(t *testing.T) { passCases(t, "set-allocation-domains") }
