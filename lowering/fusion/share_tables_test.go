package fusion

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestShareTables(t *testing.T) { lowertest.PassCases(t, "share-tables", ShareTables) }
