package lowering

import "testing"

func TestReorderShardedAxis(t *testing.T) { passCases(t, "reorder-sharded-axis") }
