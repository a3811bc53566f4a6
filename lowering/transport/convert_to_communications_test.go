package transport

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestConvertToCommunications(t *testing.T) {
	lowertest.PassCases(t, "convert-to-communications", ConvertToCommunications)
}
