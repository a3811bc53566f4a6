package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestFusePieces(t *testing.T) { lowertest.PassCases(t, "fuse-pieces", FusePieces) }
