package lowering_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// TestLoweringIsLinearInRanksTimesSteps: a ring of eight times as many ranks has eight times as many steps on each, and
// to lower a step of one takes about as long as of the other. What looked at all ranks for each step, or moved what it
// knows of them, would take eight times as long; when the pass overlap did so, it was three times as long here.
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

// costOfStep is the processor time in which the AG+matmul ring is lowered, for each rank and step; the least of some runs.
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

// processorTime is what this process has used: unlike the time of a clock it does not grow with what else runs.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
