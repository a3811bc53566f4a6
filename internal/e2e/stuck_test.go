package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/launch"
)

// TestAStuckCallNamesItsPeer stops rank 1 as it begins its third call. Every other rank must say
// what it waits for: a flag that rank 1 has not set, ready or done. Nobody else is behind with a
// ready flag before the call, so none may be missing from another rank.
func TestAStuckCallNamesItsPeer(t *testing.T) {
	const bound = 2 * time.Second
	for _, c := range []struct {
		transport, extra, tensor string
		kinds                    []string
	}{
		{"ipc-get", "graph: false", "A", []string{"stall", "stop"}},
		{"ipc-put", "graph: true", "A_all", []string{"stall", "stop"}},
		{"ipc-get", "transfers: ahead, copy: fused, signals: batched, graph: true", "A", []string{"stall"}},
	} {
		program := folder{"stuck"}.make(t, gatherInCalls(c.transport, c.extra), nil)
		for _, kind := range c.kinds {
			t.Run(fmt.Sprint(c.transport, ", ", c.extra, ", ", kind), func(t *testing.T) {
				r := run(t, launch.Options{
					Program: program, N: 4, Timeout: bound,
					Env: []string{"HIRGEN_FAULT=" + kind + ":1:3"},
				})
				readies := regexp.MustCompile(`(?m)^\[(\d)\]   call 3 waits for the ready flag of ` + c.tensor + ` from (ranks? .*) \(spec\.yaml:\d+:\d+ `)
				dones := regexp.MustCompile(`(?m)^\[(\d)\]   call 3 waits for the done flag of ` + c.tensor + ` from ranks? .*\b1\b.* \(spec\.yaml:\d+:\d+ `)
				ready, done := map[string]string{}, map[string]bool{}
				for _, found := range readies.FindAllStringSubmatch(r.stderr, -1) {
					ready[found[1]] = found[2]
				}
				for _, found := range dones.FindAllStringSubmatch(r.stderr, -1) {
					done[found[1]] = true
				}
				for _, rank := range []string{"0", "2", "3"} {
					if ready[rank] != "rank 1" || !done[rank] {
						t.Errorf("rank %s waits for the ready flag of %s from %q, want rank 1; for the done flag of rank 1: %t", rank, c.tensor, ready[rank], done[rank])
					}
				}
				if t.Failed() {
					t.Log(r)
				}
			})
		}
	}
}

// gatherInCalls is an allgather and a product over CUDA IPC.
func gatherInCalls(transport, extra string) string {
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
schedule: {pipeline: p2p, transport: ` + transport + `, ` + extra + "}\n"
}
