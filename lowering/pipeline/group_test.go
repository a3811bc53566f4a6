package pipeline

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestGroupCommunications(t *testing.T) {
	lowertest.PassCases(t, "group-communications", GroupCommunications)
}
