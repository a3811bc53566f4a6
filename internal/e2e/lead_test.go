package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLead runs pipelines whose transfers are issued one and two iterations ahead, over every transport, in many orders
// of execution.
func TestLead(t *testing.T) {
	for _, ranks := range []int64{2, 4} {
		for lead := 1; lead <= 2 && (full || ranks == 4 || lead == 1); lead++ {
			for _, via := range []string{"nccl", "ipc-get", "ipc-put"} {
				t.Run(fmt.Sprintf("ag_matmul_p2p/%s/D=%d/%d", via, ranks, lead), func(t *testing.T) {
					exchanges := exchanges.beside(t)
					// Split each shard in two, so that there are four steps on two ranks.
					spec := pointToPoint(t, "ag_matmul_p2p", via, fmt.Sprint("lead: ", lead), "split: 2", "steps: bracket")
					mustPassInOrders(t, exchanges.make(t, spec, small("ag_matmul_p2p", ranks)), ranks, transferSeedsOf(8))
				})
			}
			for _, name := range []string{"ag_matmul", "mlp_tp"} {
				t.Run(fmt.Sprintf("%s/D=%d/%d", name, ranks, lead), func(t *testing.T) {
					exchanges := exchanges.beside(t)
					text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "specs", name, "spec.yaml"))
					if err != nil {
						t.Fatal(err)
					}
					spec := withSchedule(strings.Replace(string(text), "name: "+name, "name: exchange", 1),
						fmt.Sprintf("{streams: 2, all: {lead: %d}}", lead))
					program := exchanges.make(t, spec, params{"D": ranks, "S": 4, "M": 64, "K": 32, "N": 32})
					mustPassInOrders(t, program, ranks, transferSeedsOf(8))
				})
			}
		}
	}
}
