package lowering

import "testing"

func TestLowerStreams(t *testing.T) { passCases(t, "lower-streams") }
