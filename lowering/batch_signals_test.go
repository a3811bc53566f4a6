package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestBatchSignals(t *testing.T) { lowertest.PassCases(t, "batch-signals", BatchSignals) }
