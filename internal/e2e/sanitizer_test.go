package e2e

import (
	"os"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// TestSanitizers runs a program that was built with its runtime and the CPU device under a sanitizer: an error that it
// finds ends the rank. scripts/cpp-tests.sh builds the program and runs this test.
func TestSanitizers(t *testing.T) {
	program := os.Getenv("HIRGEN_SANITIZED_PROGRAM")
	if program == "" {
		t.Skip("scripts/cpp-tests.sh thread, or address, runs this test")
	}
	for seed := range seedsOf(3) { // seed 0: each step runs as soon as it can
		run(t, launch.Options{
			Program: program, N: 2, Seed: seed, Args: brief,
			Env: []string{"TSAN_OPTIONS=halt_on_error=1:exitcode=99", "ASAN_OPTIONS=halt_on_error=1:exitcode=99"},
		}).mustPass(t)
	}
}
