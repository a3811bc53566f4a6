package lowering

import "testing"

func TestFoldSums(t *testing.T) { passCases(t, "fold-sums") }
