package e2e

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// TestEveryOrderOfExecutionGivesTheSame runs ag_matmul on 1, 2, 4 and 8 ranks, with several numbers of slices, and with
// split and fused initial waits. The CPU device takes another order of execution for each seed, out of all that streams
// and events allow.
func TestEveryOrderOfExecutionGivesTheSame(t *testing.T) {
	for _, ranks := range []int64{1, 2, 4, 8} {
		for _, slices := range []int64{1, 4, 8} {
			for _, sync := range []string{"split", "fused"} {
				t.Run(fmt.Sprintf("D=%d/S=%d/%s", ranks, slices, sync), func(t *testing.T) {
					shared := shared.beside(t)
					s := plain
					s.waits = sync
					program := shared.make(t, agMatmul(s), params{"D": ranks, "S": slices})
					for seed := range seedsOf(5) { // seed 0: each step runs as soon as it can
						run(t, launch.Options{Program: program, N: int(ranks), Seed: seed, Args: brief}).mustPass(t)
					}
				})
			}
		}
	}
}

// brief has the arguments for two checked calls and few timed ones.
var brief = []string{"--checks", "2", "--warmup", "1", "--iters", "2", "--repeats", "1"}

// TestSchedulesComputeTheSame runs a spec with several schedules: none of them may change a result.
func TestSchedulesComputeTheSame(t *testing.T) {
	for _, s := range []schedule{
		{streams: 1, waits: "split", joins: "body"},
		{streams: 3, waits: "split", joins: "after"},
		{streams: 8, waits: "fused", joins: "after"},
		{streams: 4, waits: "split", joins: "body", graph: true},
	} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			shared := shared.beside(t)
			program := shared.make(t, agLinear(s), nil)
			for _, seed := range []int64{0, 1, 2, 3} {
				run(t, launch.Options{Program: program, N: 4, Seed: seed, Args: brief}).mustPass(t)
			}
		})
	}
}
