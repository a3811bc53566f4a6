package prove_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
)

// ring returns the AG+matmul ring on the given number of ranks, with its model.
func ring(tb testing.TB, ranks int64) (*calls.Program, func(map[string]int64) (*model.Pipeline, error)) {
	tb.Helper()
	path := provetest.Spec("ag_matmul_ring")
	programs, err := provetest.Lower(path, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for _, d := range programs[0].Params {
		if d.Spec == "D" {
			d.Value = ranks
		}
	}
	return programs[0], func(params map[string]int64) (*model.Pipeline, error) {
		all := map[string]int64{"D": ranks}
		for name, value := range params {
			all[name] = value
		}
		p, _, err := model.LoadFile(path, all)
		return p, err
	}
}

// processorTime returns the processor time of this process. Unlike wall time it does not depend on other processes.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// cost returns the processor time for one operation of a proof, the least of several runs.
func cost(t *testing.T, ranks int64, runs int) time.Duration {
	t.Helper()
	p, load := ring(t, ranks)
	least := time.Hour
	for range runs {
		start := processorTime(t)
		report, err := prove.Against(p, load)
		if err != nil || !report.Proved() {
			t.Fatalf("%d ranks: %v, %+v", ranks, err, report)
		}
		least = min(least, (processorTime(t)-start)/time.Duration(report.Operations))
	}
	return least
}

// TestLinearInRanksTimesSteps compares two rings. Four times as many ranks issue sixteen times as many operations, and each
// operation has to cost about the same. If a proof looked at all ranks for each operation, it would cost four times as much.
func TestLinearInRanksTimesSteps(t *testing.T) {
	const most = 2.5
	small, large := cost(t, 32, 5), cost(t, 128, 1)
	if float64(large) > most*float64(small) {
		large = cost(t, 128, 3)
	}
	if float64(large) > most*float64(small) {
		t.Errorf("an operation takes %v on 32 ranks, and %v on 128", small, large)
	}
	t.Logf("an operation takes %v on 32 ranks, and %v on 128", small, large)
}
