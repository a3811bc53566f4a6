package streams

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestInterchangeSubChunks(t *testing.T) {
	lowertest.PassCases(t, "interchange-sub-chunks", InterchangeSubChunks)
}
