package pipeline

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestOverlap(t *testing.T) { lowertest.PassCases(t, "overlap", Overlap) }
