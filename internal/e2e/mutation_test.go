package e2e

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
)

// TestEveryWaitIsNeeded takes the waits out of an emitted program, one at a time. For
// some seed the CPU device must then give wrong elements: a check is worth what it catches.
func TestEveryWaitIsNeeded(t *testing.T) {
	shared.emit(t, agMatmul(plain), params{"D": 2})
	lines := strings.SplitAfter(shared.source(t, "ag_matmul.cpp"), "\n")
	waits := 0
	for i, line := range lines {
		if !strings.Contains(line, "cudaStreamWaitEvent(") {
			continue
		}
		waits++
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			mutated := strings.Join(lines[:i], "") + withoutFirst(lines[i:])
			program := shared.rebuild(t, "ag_matmul.cpp", mutated)
			for seed := int64(1); seed <= 40; seed++ {
				r := run(t, launch.Options{Program: program, N: 2, Seed: seed, Args: brief})
				if r.exit == 1 && r.wrong(t) > 0 {
					return
				}
				if r.exit != 0 {
					t.Fatalf("seed %d: the program must run to its end, got %s", seed, r)
				}
			}
			t.Error("no seed shows that this wait is missing")
		})
	}
	if waits < 4 {
		t.Errorf("found %d waits in the emitted program, want those of fork, gather and join", waits)
	}
}

// withoutFirst drops the first statement of the lines, to its semicolon.
func withoutFirst(lines []string) string {
	for n, line := range lines {
		if strings.Contains(line, ";") {
			return strings.Join(lines[n+1:], "")
		}
	}
	return ""
}
