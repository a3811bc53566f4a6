package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
)

// exchanges is the folder of the point-to-point programs, which all have one name.
var exchanges = folder{name: "exchanges", cache: []string{quick}}

// pointToPoint reads an example of a point-to-point pipeline with another schedule.
func pointToPoint(t *testing.T, name, transport, own string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "specs", name, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "name:"):
			line = "name: exchange\n"
		case strings.HasPrefix(line, "schedule:"):
			line = fmt.Sprintf("schedule: {pipeline: p2p, transport: %s, own: %s, streams: 2}\n", transport, own)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// small is a size that tests can afford.
func small(spec string, d int64) params {
	values := params{"D": d, "M": 64, "K": 32}
	if spec != "allgather_p2p" {
		values["N"] = 24
	}
	return values
}

// manyCalls checks twenty calls that follow each other without the host, each on other
// inputs: data of the call before, or of the call after, shows.
var manyCalls = []string{"--checks", "20", "--warmup", "1", "--iters", "2", "--repeats", "1"}

// TestPointToPoint runs point-to-point pipelines over every transport, with the own slice
// in place and copied, in many orders of execution.
func TestPointToPoint(t *testing.T) {
	for _, c := range []struct {
		spec, own string
		ranks     int64
	}{
		{"ag_matmul_p2p", "in-place", 4}, {"ag_linear_p2p", "copied", 2}, {"allgather_p2p", "copied", 4},
		{"matmul_rs_p2p", "in-place", 4}, {"matmul_rs_p2p", "copied", 2}, {"matmul_ar_p2p", "in-place", 4},
	} {
		for _, transport := range []string{"nccl", "ipc-get", "ipc-put"} {
			t.Run(fmt.Sprintf("%s/%s/%s/D=%d", c.spec, transport, c.own, c.ranks), func(t *testing.T) {
				program := exchanges.make(t, pointToPoint(t, c.spec, transport, c.own), small(c.spec, c.ranks))
				for seed := range int64(16) { // 0 is in order
					run(t, launch.Options{Program: program, N: int(c.ranks), Seed: seed, Args: manyCalls}).mustPass(t)
				}
			})
		}
	}
}

// TestEveryWaitOnAPeerIsNeeded takes the waits for a peer's signal out of an emitted
// program, one at a time: for some seed elements must then be wrong.
func TestEveryWaitOnAPeerIsNeeded(t *testing.T) {
	for _, transport := range []string{"ipc-get", "ipc-put"} {
		exchanges.emit(t, pointToPoint(t, "ag_matmul_p2p", transport, "in-place"), small("ag_matmul_p2p", 2))
		path := filepath.Join(exchanges.dir(), "exchange.cpp")
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(source), "\n")
		waits := 0
		for i, line := range lines {
			if !strings.Contains(line, "cuStreamWaitValue32(") {
				continue
			}
			waits++
			t.Run(transport+"/"+strings.TrimSpace(line), func(t *testing.T) {
				mutated := strings.Join(lines[:i], "") + withoutFirst(lines[i:])
				if err := os.WriteFile(path, []byte(mutated), 0o644); err != nil {
					t.Fatal(err)
				}
				mustBeWrong(t, exchanges.build(t))
			})
		}
		if waits != 2 {
			t.Errorf("%s: found %d waits for a peer in the emitted program, want those of the copier and of the owner", transport, waits)
		}
	}
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
