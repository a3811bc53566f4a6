package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// widen is a second program, which reads the output of agMatmul.
const widen = `hirgen: 1
name: widen
params: {D: 4, S: 4, M: 128, N: 24}
mesh: {x: D}
dtype: bf16
tensors:
  F: [S, D, M/(S*D), N]
  E: [S, D, M/(S*D), N]
ops:
  - E = scale(F, by=4)
`

// others is a second folder, for programs that run together with the one in shared.
var others = folder{"others"}

// TestTwoProgramsInOneProcess runs a client that passes its buffers, stream and events to two programs, and to two
// handles of one of them.
func TestTwoProgramsInOneProcess(t *testing.T) {
	first := shared.make(t, agMatmul(plain), params{"D": 2})
	second := others.make(t, widen, params{"D": 2})
	caller := client(t, "two.c", library{shared, first, "hirgen_ag_matmul"}, library{others, second, "hirgen_widen"})
	for seed := range seedsOf(3) {
		r := run(t, launch.Options{Program: caller, N: 2, Seed: seed})
		if r.exit != 0 || strings.Count(r.stdout, "0 wrong of 6144") != 2 {
			t.Fatal(r)
		}
	}
}

// TestMisuse checks that a wrong call of a client returns an error, and later calls are correct.
func TestMisuse(t *testing.T) {
	for _, graph := range []bool{false, true} {
		s := plain
		s.graph = graph
		program := shared.make(t, agMatmul(s), params{"D": 2})
		caller := client(t, "misuse.c", library{shared, program, "hirgen_ag_matmul"})
		for _, what := range []string{"host pointer", "unaligned pointer", "capture", "threads", "destroyed"} {
			if graph && what == "capture" {
				continue // TestCapturedCalls covers it
			}
			t.Run(fmt.Sprintf("%s, graph %t", what, graph), func(t *testing.T) {
				r := run(t, launch.Options{Program: caller, N: 2, Args: []string{what}})
				if r.exit != 0 || strings.Count(r.stdout, "right\n") != 2 {
					t.Error(r)
				}
			})
		}
	}
}

// TestPeersOfMisuse checks that the peers of a rank whose call was refused end within 11 s: the
// deadline of the client is 5 s.
func TestPeersOfMisuse(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	caller := client(t, "misuse.c", library{shared, program, "hirgen_ag_matmul"})
	for _, what := range []string{"host pointer, then leaves", "host pointer, then nothing"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r := run(t, launch.Options{Program: caller, N: 2, Args: []string{what}})
			if code := r.exits()[0]; code != 5 && code != 6 || r.took > 11*time.Second {
				t.Error(r)
			}
		})
	}
}

// TestRanksOfDifferentFolders starts rank 1 from a folder with another program, other parameters or another schedule
// than the folder of rank 0. Both ranks must report the difference.
func TestRanksOfDifferentFolders(t *testing.T) {
	links := t.TempDir()
	start := filepath.Join(links, "start")
	script(t, start, "#!/bin/sh\nexec "+links+"/$HIRGEN_RANK \"$@\"\n")
	first := shared.make(t, agMatmul(plain), params{"D": 2})
	if err := os.Symlink(first, filepath.Join(links, "0")); err != nil {
		t.Fatal(err)
	}
	fused := plain
	fused.waits = "fused"
	for _, test := range []struct {
		spec   string
		values params
		want   []string
	}{
		{widen, params{"D": 2}, []string{"has program widen where rank 0 has ag_matmul"}},
		{agMatmul(plain), params{"D": 2, "N": 48}, []string{"has parameters N=48 where rank 0 has N=24: "}},
		{agMatmul(fused), params{"D": 2}, []string{"has program digest ", "schedule", "the same folder"}},
	} {
		second := others.make(t, test.spec, test.values)
		link := filepath.Join(links, "1")
		if err := os.Symlink(second, link); err != nil {
			t.Fatal(err)
		}
		r := run(t, launch.Options{Program: start, N: 2, Args: brief})
		for _, part := range append(test.want, "rank 0: ", "rank 1: ") {
			if codes := r.exits(); codes[0] != 3 || codes[1] != 3 || !strings.Contains(r.stderr, part) {
				t.Errorf("want code 3 of both and %q: %s", part, r)
			}
		}
		if strings.Count(r.stderr, test.want[0]) != 2 {
			t.Errorf("both ranks should say %q: %s", test.want[0], r)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}
