package streams

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestLowerStreams(t *testing.T) { lowertest.PassCases(t, "lower-streams", LowerStreams) }
