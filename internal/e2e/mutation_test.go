package e2e

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// TestEveryWaitIsNeeded removes the waits of an emitted program, one at a time. The CPU device must then compute wrong
// elements for some seed, which shows that the check detects missing waits.
func TestEveryWaitIsNeeded(t *testing.T) {
	if waits := shared.mustNeedEach(t, agMatmul(plain), params{"D": 2}, "cudaStreamWaitEvent(", "ag_matmul.cpp"); waits < 3 {
		t.Errorf("found %d waits in the emitted program, want those of the communicator, the GEMM and the caller", waits)
	}
}

// mustNeedEach builds a program on two ranks without each statement of a source that contains text, one at a time:
// elements must then be wrong. It returns the number of these statements.
func (f folder) mustNeedEach(t *testing.T, spec string, values params, text, source string) int {
	t.Helper()
	f.emit(t, spec, values)
	lines := strings.SplitAfter(f.source(t, source), "\n")
	found := 0
	for i, line := range lines {
		if !strings.Contains(line, text) {
			continue
		}
		found++
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			f := f.beside(t)
			f.emit(t, spec, values)
			start := startOf(lines, i)
			mustBeWrong(t, f.rebuild(t, source, strings.Join(lines[:start], "")+withoutFirst(lines[start:])))
		})
	}
	return found
}

// mustBeWrong finds a seed for which a program on two ranks runs to its end and is wrong.
func mustBeWrong(t *testing.T, program string) {
	t.Helper()
	for seed := int64(1); seed <= 60; seed++ {
		r := run(t, launch.Options{Program: program, N: 2, Seed: seed, Args: manyCalls})
		if r.exit == 1 && r.wrong(t) > 0 {
			return
		}
		if r.exit != 0 {
			t.Fatalf("seed %d: the program must run to its end, got %s", seed, r)
		}
	}
	t.Error("no seed shows that this wait is missing")
}

// startOf returns the first line of the statement that contains line i.
func startOf(lines []string, i int) int {
	for i > 0 && strings.HasSuffix(strings.TrimSpace(lines[i-1]), "(") {
		i--
	}
	return i
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
