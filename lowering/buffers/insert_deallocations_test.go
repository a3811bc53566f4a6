package buffers

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestInsertDeallocations(t *testing.T) {
	lowertest.PassCases(t, "insert-deallocations", InsertDeallocations)
}
