package lowering

import "testing"

func TestSerializeStreams(t *testing.T) { passCases(t, "serialize-streams") }
