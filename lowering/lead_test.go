package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// TestLeadKeepsTheResult checks programs that issue transfers 1 to 3 iterations ahead: the example specs with each of
// transports and several schedules.
func TestLeadKeepsTheResult(t *testing.T) {
	t.Parallel()
	leads := 0
	for i, s := range specTexts(t) {
		for _, d := range []int64{2, 3, 4} {
			for _, via := range transports {
				for n, form := range []string{"", "streams 0, buffers free", "streams 2, all.split 2", "all.local last, all.signals batched",
					"preset reference", "all.steps pairwise, all.copy fused"} {
					if s.name == "ag_matmul_auto" || !inTurn(n, 6, i, int(d), len(via)) {
						continue
					}
					for lead := range 3 {
						t.Run(fmt.Sprintf("%s/D=%d/%s/%s/%d", s.name, d, via, form, lead+1), func(t *testing.T) {
							p := s.onMesh(t, "{x: D}", sizes(d, 2))
							choose(&p.Schedule, form, "all.via "+via, fmt.Sprintf("all.lead %d", lead+1))
							fit(p)
							if strings.Contains(text.Print(keepsResult(t, p, 3)), "_ahead = ") {
								leads++
							}
						})
					}
				}
			}
		}
	}
	if leads < 40 {
		t.Errorf("%d programs issue a transfer ahead: that tests little", leads)
	}
}
