package e2e

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hirgen/hirgen/internal/launch"
)

// TestAStuckCallNamesItsPeer stops rank 1 as it begins its third call. Every other rank must say
// what it waits for: rank 1 has not lent its tensor, or not returned what it was lent. Nobody else
// is behind with a loan before the call, so no other rank may be said not to have lent.
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
				lends := regexp.MustCompile(`(?m)^\[(\d)\]   call 3 waits for (ranks? .*) to lend ` + c.tensor + ` \(spec\.yaml:\d+:\d+ `)
				returns := regexp.MustCompile(`(?m)^\[(\d)\]   call 3 waits for ranks? .*\b1\b.* to return ` + c.tensor + ` \(spec\.yaml:\d+:\d+ `)
				lent, returned := map[string]string{}, map[string]bool{}
				for _, found := range lends.FindAllStringSubmatch(r.stderr, -1) {
					lent[found[1]] = found[2]
				}
				for _, found := range returns.FindAllStringSubmatch(r.stderr, -1) {
					returned[found[1]] = true
				}
				for _, rank := range []string{"0", "2", "3"} {
					if lent[rank] != "rank 1" || !returned[rank] {
						t.Errorf("rank %s says that %q has not lent %s, want rank 1; says that rank 1 has not returned it: %t", rank, lent[rank], c.tensor, returned[rank])
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
