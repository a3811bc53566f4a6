package lowering

import "testing"

func TestMakeReshardingsContiguous(t *testing.T) { passCases(t, "make-reshardings-contiguous") }
