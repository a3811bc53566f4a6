package lowering

import "testing"

func TestOverlapPieces(t *testing.T) { passCases(t, "overlap-pieces") }
