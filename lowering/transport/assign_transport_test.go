package transport

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestAssignTransport(t *testing.T) { lowertest.PassCases(t, "assign-transport", AssignTransport) }
