package lowering

import "testing"

func TestDecomposeContractions(t *testing.T) { passCases(t, "decompose-contractions") }
