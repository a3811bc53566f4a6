package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// TestAStuckCallNamesItsPeer stops rank 1 as it begins its fourth call, whose tensors have the addresses of the third
// call. Every other rank must report the flags that it waits for, which rank 1 has not set: ready and done. All other
// ranks have set their ready flags, so no rank may report one of these.
func TestAStuckCallNamesItsPeer(t *testing.T) {
	const bound = 2 * time.Second
	for i, c := range []struct {
		transport, tensor string
		fields            []string
		kinds             []string
	}{
		{"ipc-get", "A", []string{"graph: false", "lead: none"}, []string{"stall", "stop"}},
		{"ipc-put", "A_all", []string{"graph: true", "lead: none"}, []string{"stall", "stop"}},
		{"ipc-get", "A", []string{"lead: all", "copy: fused", "signals: batched", "graph: true"}, []string{"stall"}},
	} {
		// Each has its own folder, because they run in parallel after the last one is built.
		program := folder{fmt.Sprint("stuck-", i)}.make(t, gatherInCalls(c.transport, c.fields...), nil)
		for _, kind := range c.kinds {
			t.Run(fmt.Sprint(c.transport, ", ", c.fields, ", ", kind), func(t *testing.T) {
				t.Parallel()
				r := run(t, launch.Options{
					Program: program, N: 4, Timeout: bound,
					Env: []string{"HIRGEN_FAULT=" + kind + ":1:4"},
				})
				readies := regexp.MustCompile(`(?m)^\[(\d)\]   call 4 waits for the ready flag of ` + c.tensor +
					` from (ranks? .*) \(spec\.yaml:\d+:\d+ `)
				dones := regexp.MustCompile(`(?m)^\[(\d)\]   call 4 waits for the done flag of ` + c.tensor +
					` from ranks? .*\b1\b.* \(spec\.yaml:\d+:\d+ `)
				ready, done := map[string]string{}, map[string]bool{}
				for _, found := range readies.FindAllStringSubmatch(r.stderr, -1) {
					ready[found[1]] = found[2]
				}
				for _, found := range dones.FindAllStringSubmatch(r.stderr, -1) {
					done[found[1]] = true
				}
				for _, rank := range []string{"0", "2", "3"} {
					if ready[rank] != "rank 1" || !done[rank] {
						t.Errorf("rank %s waits for the ready flag of %s from %q, want rank 1; for the done flag of rank 1: %t", rank, c.tensor, ready[rank],
							done[rank])
					}
				}
				if t.Failed() {
					t.Log(r)
				}
			})
		}
	}
}

// gatherInCalls returns a spec of an allgather over CUDA IPC and a matmul.
func gatherInCalls(via string, fields ...string) string {
	return `hirgen: 1
name: gather
params: {D: 4, M: 32, N: 16, K: 32}
mesh: {x: D}
dtype: bf16
tensors:
  A: [DIDx, M/D, K]
  B: [K, N]
  C: [Stream(D), M/D, N]
ops:
  - C = matmul(A, B)
schedule: ` + scheduleOf(append(fields, "pipeline: p2p", "via: "+via)...) + "\n"
}
