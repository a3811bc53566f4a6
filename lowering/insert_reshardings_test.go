package lowering

import "testing"

func TestInsertReshardings(t *testing.T) { passCases(t, "insert-reshardings") }
