package lowering

import (
	"fmt"
	"strings"
	"testing"
)

// TestBracketKeepsTheResult begins and ends with pieces of the own slice, in programs that gather and
// in programs that sum.
func TestBracketKeepsTheResult(t *testing.T) {
	for _, s := range specTexts(t) {
		if !strings.HasSuffix(s.name, "_p2p") {
			continue
		}
		for _, d := range []int64{1, 2, 3, 4} {
			for transport := range transports {
				for _, transfers := range []string{"inline", "ahead"} {
					for n, pieces := range []int64{2, 3, 4} {
						t.Run(fmt.Sprintf("%s/D=%d/%s/%s/%d", s.name, d, transport, transfers, pieces), func(t *testing.T) {
							p := s.onMesh(t, "{x: D}", sizes(d, pieces))
							p.Schedule.Transport, p.Schedule.Transfers, p.Schedule.Order = transport, transfers, "bracket"
							p.Schedule.Chunks, p.Schedule.Streams = int(d*pieces), n%3
							p.Schedule.Own = []string{"in-place", "copied"}[n%2]
							p.Schedule.Joins = []string{"body", "after"}[n%2]
							keepsResult(t, p, 3)
						})
					}
				}
			}
		}
	}
}
