package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// deadline is the timeout of waits in cases in which a wait must time out. patience is the timeout in cases in which
// none may: it is longer, because a busy machine needs some of that time to start the ranks.
const deadline, patience = 4 * time.Second, 15 * time.Second

// TestOneRankFails breaks rank 1 in the middle of a call. Every other rank must end
// with an error that names it, in time, and nothing of the run may be left.
func TestOneRankFails(t *testing.T) {
	program := shared.make(t, agMatmul(plain), nil)
	for _, c := range []struct {
		kind            string
		timeout, within time.Duration
		worst           int // the launcher's exit code
	}{
		{"kill", patience, patience, 128 + 9},
		{"segv", patience, patience, 128 + 11},
		{"exit", patience, patience, 5},
		{"stop", deadline, 3 * deadline, 5}, // only a timeout shows that a process is stopped
		{"stall", deadline, 3 * deadline, 6},
	} {
		t.Run(c.kind, func(t *testing.T) {
			before := sharedMemory(t)
			r := run(t, launch.Options{
				Program: program, N: 4, Timeout: c.timeout,
				Env: []string{"HIRGEN_FAULT=" + c.kind + ":1:20:5"},
			})
			if r.took > c.within {
				t.Errorf("the last rank was gone only after %v, want %v", r.took, c.within)
			}
			if r.exit != c.worst {
				t.Errorf("exit code %d, want %d", r.exit, c.worst)
			}
			codes, waiting := r.exits(), 0
			for _, rank := range []int{0, 2, 3} {
				if codes[rank] != 5 {
					t.Errorf("rank %d exited with code %d, want 5", rank, codes[rank])
				}
				if !reports(r.stderr, rank, "rank 1") {
					t.Errorf("rank %d does not say which rank it lost", rank)
				}
				if betweenCalls(r.stderr, rank) {
					continue // the rank had not begun the next call when it received the report of the loss
				}
				waiting++
				if !reports(r.stderr, rank, "spec.yaml:") {
					t.Errorf("rank %d does not say for which statement it waited", rank)
				}
			}
			if waiting == 0 {
				t.Error("no rank was in a call")
			}
			if left := difference(sharedMemory(t), before); len(left) > 0 {
				t.Errorf("left in /dev/shm: %v", left)
			}
			if t.Failed() {
				t.Log(r)
			}
		})
	}
}

// reports reports whether a line of one rank contains the text.
func reports(stderr string, rank int, text string) bool {
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, fmt.Sprintf("[%d] ", rank)) && strings.Contains(line, text) {
			return true
		}
	}
	return false
}

// betweenCalls reports whether a rank had completed every call that it had begun.
func betweenCalls(stderr string, rank int) bool {
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^\[%d\] +calls begun (\d+), issued \d+, completed (\d+)$`, rank))
	counts := line.FindStringSubmatch(stderr)
	return len(counts) == 3 && counts[1] == counts[2]
}

// sharedMemory lists the shared memory files of hirgen's programs on this machine.
func sharedMemory(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir("/dev/shm")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, entry := range entries {
		if strings.Contains(entry.Name(), "hirgen") {
			names[entry.Name()] = true
		}
	}
	return names
}

func difference(now, before map[string]bool) []string {
	var added []string
	for name := range now {
		if !before[name] {
			added = append(added, name)
		}
	}
	return added
}
