package e2e

import (
	"os"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// full asks for everything that is claimed; see make test-full.
var full = os.Getenv("HIRGEN_TEST_FULL") != ""

// seedsOf is some orders of execution, or all that are claimed.
func seedsOf(some int64) int64 {
	if full {
		return 20
	}
	return some
}

// transferSeedsOf is the same of programs whose ranks exchange slices.
func transferSeedsOf(some int64) int64 {
	if full {
		return 50
	}
	return some
}

// manyCalls checks twenty calls that follow each other without the host, each on other
// inputs: data of the call before, or of the call after, shows.
var manyCalls = []string{"--checks", "20", "--warmup", "1", "--iters", "2", "--repeats", "1"}

// mustPassInOrders runs many calls of a program in some orders of execution: 0 is in order.
func mustPassInOrders(t *testing.T, program string, ranks, seeds int64, options ...string) {
	t.Helper()
	for seed := range seeds {
		args := append(slices.Clone(manyCalls), options...)
		run(t, launch.Options{Program: program, N: int(ranks), Seed: seed, Args: args}).mustPass(t)
	}
}
