package lowering

import "testing"

func TestConvertToCommunications(t *testing.T) { passCases(t, "convert-to-communications") }
