package lowering_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// TestLoweringIsLinearInRanksTimesSteps checks that the time to lower one step of one rank at most doubles from 64 to
// 512 ranks. If each step did work for all ranks, or copied per-rank data, that time would be 8 times as long, or 3
// times as long if only the pass overlap did.
func TestLoweringIsLinearInRanksTimesSteps(t *testing.T) {
	const most = 2
	small, large := costOfStep(t, 64, 5), costOfStep(t, 512, 1)
	if large > most*small {
		small, large = min(small, costOfStep(t, 64, 10)), costOfStep(t, 512, 3)
	}
	if large > most*small {
		t.Errorf("a step takes %v on 64 ranks, and %v on 512", small, large)
	}
	t.Logf("a step takes %v on 64 ranks, and %v on 512", small, large)
}

// costOfStep returns the CPU time to lower the AG+matmul ring, divided by the number of ranks and the number of steps.
// It is the minimum of the given number of runs.
func costOfStep(t *testing.T, ranks int64, runs int) time.Duration {
	t.Helper()
	least := time.Hour
	for range runs {
		p, _, err := model.LoadFile("../testdata/specs/ag_matmul_ring/spec.yaml", map[string]int64{"D": ranks})
		if err != nil {
			t.Fatal(err)
		}
		start := processorTime(t)
		if _, err := lowering.Host(p, lowering.Options{}); err != nil {
			t.Fatal(err)
		}
		least = min(least, (processorTime(t)-start)/time.Duration(ranks*ranks))
	}
	return least
}

// processorTime returns the CPU time of this process, which does not depend on other processes.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
