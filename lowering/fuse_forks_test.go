package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestFuseForks(t *testing.T) { lowertest.PassCases(t, "fuse-forks", FuseForks) }
