package lowering

import "testing"

func TestIssueTransfers(t *testing.T) { passCases(t, "issue-transfers") }
