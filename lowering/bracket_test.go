package lowering

import (
	"fmt"
	"testing"
)

// TestBracketKeepsTheResult checks pipelines with steps: bracket, which begin and end with sub-chunks of the local
// shard. Some pipelines gather, and others sum.
func TestBracketKeepsTheResult(t *testing.T) {
	for i, s := range exchangeSpecs(t) {
		for _, d := range []int64{1, 2, 3, 4} {
			for _, transport := range transports {
				for _, lead := range []string{"none", "all"} {
					for n, subChunks := range []int64{2, 3, 4} {
						if !inTurn(n, 3, i, int(d), len(transport)) {
							continue
						}
						t.Run(fmt.Sprintf("%s/D=%d/%s/%s/%d", s.name, d, transport, lead, subChunks), func(t *testing.T) {
							p := s.onMesh(t, "{x: D}", sizes(d, subChunks))
							choose(&p.Schedule, "all.steps bracket, all.via "+transport, "all.lead "+lead,
								fmt.Sprintf("all.split %d, streams %d", subChunks, n%3),
								[]string{"local_shard in-place, joins body", "local_shard copied, joins after"}[n%2])
							fit(p)
							keepsResult(t, p, 3)
						})
					}
				}
			}
		}
	}
}
