package e2e

import (
	"os"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// full selects tests at full length; see make test-full.
var full = os.Getenv("HIRGEN_TEST_FULL") != ""

// seedsOf returns a number of orders of execution: some, or 20 in a full test.
func seedsOf(some int64) int64 {
	if full {
		return 20
	}
	return some
}

// transferSeedsOf is seedsOf for programs whose ranks exchange slices: 50 in a full test.
func transferSeedsOf(some int64) int64 {
	if full {
		return 50
	}
	return some
}

// manyCalls checks twenty calls back to back, each with new inputs, so that data of the call before or after is
// detected.
var manyCalls = []string{"--checks", "20", "--warmup", "1", "--iters", "2", "--repeats", "1"}

// mustPassInOrders runs many calls of a program in some orders of execution. With seed 0, each step runs as soon as it can.
func mustPassInOrders(t *testing.T, program string, ranks, seeds int64, options ...string) {
	t.Helper()
	for seed := range seeds {
		args := append(slices.Clone(manyCalls), options...)
		run(t, launch.Options{Program: program, N: int(ranks), Seed: seed, Args: args}).mustPass(t)
	}
}
