package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestFoldColumns(t *testing.T) { lowertest.PassCases(t, "fold-columns", FoldColumns) }
