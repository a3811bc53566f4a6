package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestQuantizeColumns(t *testing.T) { lowertest.PassCases(t, "quantize-columns", QuantizeColumns) }
