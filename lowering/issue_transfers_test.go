package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

func TestIssueTransfers(t *testing.T) { lowertest.PassCases(t, "issue-transfers", IssueTransfers) }
