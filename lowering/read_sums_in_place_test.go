package lowering

import "testing"

func TestReadSumsInPlace(t *testing.T) { passCases(t, "read-sums-in-place") }
