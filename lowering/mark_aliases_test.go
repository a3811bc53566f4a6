package lowering

import "testing"

func TestMarkAliases(t *testing.T) { passCases(t, "mark-aliases") }
