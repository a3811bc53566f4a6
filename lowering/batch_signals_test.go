package lowering

import "testing"

func TestBatchSignals(t *testing.T) { passCases(t, "batch-signals") }
