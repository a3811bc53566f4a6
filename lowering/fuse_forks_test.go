package lowering

import "testing"

func TestFuseForks(t *testing.T) { passCases(t, "fuse-forks") }
