package lowering

import "testing"

func TestInsertDeallocations(t *testing.T) { passCases(t, "insert-deallocations") }
