package lowering

import "testing"

func TestMakeOwnSlicesInPlace(t *testing.T) { passCases(t, "make-own-slices-in-place") }
