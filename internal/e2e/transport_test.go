package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// obstacles keep ranks from sharing memory. Each obstacle affects one of two ranks. Rank 0 prints a line with message,
// which names the obstacle.
var obstacles = []struct{ name, rank, variable, message string }{
	{"other node", "1", "HIRGEN_BOOT_ID=another", "they are on different nodes"},
	{"no access", "0", "HIRGEN_CPU_NO_PEER_ACCESS=1", "ranks 0 and 1 cannot share memory: GPU 0000:01:00.0 has no access"},
	{"hidden GPU", "0", "HIRGEN_CPU_DEVICES=1", "GPU 0000:02:00.0 is hidden from the first (CUDA_VISIBLE_DEVICES)"},
	{"forbidden", "1", "HIRGEN_CPU_NO_IPC=1", "rank 1 cannot open memory of rank 0: cudaErrorNotSupported"},
}

// onRanks returns a program that sets environment variables on some ranks. ranks is a shell pattern: "2|3".
func onRanks(t *testing.T, program, ranks, variable string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "on_ranks")
	text := fmt.Sprintf("#!/bin/sh\ncase $HIRGEN_RANK in %s) export %s;; esac\nexec '%s' \"$@\"\n", ranks, variable, program)
	script(t, path, text)
	return path
}

// mustRunOver fails the test unless the program was right over a transport.
func (r result) mustRunOver(t *testing.T, transport string) {
	t.Helper()
	r.mustPass(t)
	if want := "# Transport: " + transport + "\n"; !strings.Contains(r.stdout, want) {
		t.Errorf("no %q in %s", want, r)
	}
}

// TestTransportAuto runs programs with a variant for CUDA IPC and one for NCCL: the one that the machine allows, and
// the one that is asked for, in several orders of execution.
func TestTransportAuto(t *testing.T) {
	for _, c := range []struct {
		spec, ipc string
		fields    []string
	}{
		{"ag_matmul_p2p", "ipc-get", []string{"lead: all", "copy: fused", "signals: batched"}},
		{"matmul_rs_p2p", "ipc-put", []string{"copy: sm", "local: last", "graph: true"}},
	} {
		program := exchanges.make(t, pointToPoint(t, c.spec, "auto", c.fields...), small(c.spec, 2))
		over := func(t *testing.T, transport, program string, more ...string) {
			t.Helper()
			for seed := range int64(4) { // seed 0: each step runs as soon as it can
				args := append(slices.Clone(manyCalls), more...)
				r := run(t, launch.Options{Program: program, N: 2, Seed: seed, Args: args})
				r.mustRunOver(t, transport)
				if strings.Contains(r.stderr, "NCCL") {
					t.Errorf("want no reason, got %s", r)
				}
			}
		}
		t.Run(c.spec+"/no obstacle", func(t *testing.T) { over(t, c.ipc, program) })
		t.Run(c.spec+"/asked for", func(t *testing.T) {
			over(t, "nccl", program, "--transport", "nccl")
			over(t, c.ipc, program, "--transport", "ipc")
		})
		t.Run(c.spec+"/shared GPU", func(t *testing.T) {
			over(t, c.ipc, onRanks(t, program, "0|1", "HIRGEN_CPU_DEVICES=1 HIRGEN_SHARE_GPU=1"))
		})
		for _, o := range obstacles {
			t.Run(c.spec+"/"+o.name, func(t *testing.T) {
				takesNCCL(t, onRanks(t, program, o.rank, o.variable), o.message)
			})
		}
	}
}

// takesNCCL runs a program that an obstacle keeps from CUDA IPC. It must use NCCL and name the obstacle, and stop if
// CUDA IPC is asked for.
func takesNCCL(t *testing.T, program, message string) {
	t.Helper()
	for seed := range int64(4) {
		r := run(t, launch.Options{Program: program, N: 2, Seed: seed, Args: manyCalls})
		r.mustRunOver(t, "nccl")
		if strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, message) {
			t.Errorf("want one line that has %q, got %s", message, r)
		}
	}
	r := run(t, launch.Options{Program: program, N: 2, Args: []string{"--transport", "ipc", "--timeout", "5"}})
	if r.exit != 3 || !strings.Contains(r.stderr, "HIRGEN_TRANSPORT=nccl") {
		t.Errorf("asked for CUDA IPC it must stop and say what to do, got %s", r)
	}
}

// TestTransportAutoOnAGrid checks that ranks that exchange nothing need not share memory. The ranks along a row of
// the grid exchange data. If each row is on one node, the transport is CUDA IPC, and if each column is, NCCL. If
// only one row is on one node, CUDA IPC is used within that row.
func TestTransportAutoOnAGrid(t *testing.T) {
	spec := pointToPoint(t, "ag_matmul_p2p", "auto")
	program := exchanges.make(t, strings.Replace(spec, "mesh: {x: D}", "mesh: {y: 2, x: D}", 1), small("ag_matmul_p2p", 2))
	for ranks, transport := range map[string]string{"2|3": "ipc-get", "1|3": "nccl", "1": "ipc-get within nodes, nccl between them"} {
		nodes := onRanks(t, program, ranks, "HIRGEN_BOOT_ID=another")
		for seed := range int64(4) {
			run(t, launch.Options{Program: nodes, N: 4, Seed: seed, Args: manyCalls}).mustRunOver(t, transport)
		}
	}
}
