package lowering

import "testing"

func TestFusePieces(t *testing.T) { passCases(t, "fuse-pieces") }
