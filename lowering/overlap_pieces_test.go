package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestOverlapPieces(t *testing.T) { lowertest.PassCases(t, "overlap-pieces", OverlapPieces) }
