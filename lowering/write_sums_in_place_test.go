package lowering

import "testing"

func TestWriteSumsInPlace(t *testing.T) { passCases(t, "write-sums-in-place") }
