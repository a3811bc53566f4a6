package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

// TestRingSumsOfPartsThatAreThere adds, along a ring, partial sums that no GEMM computes. On several ranks, hirgen
// rejects fuse: gemm for this pipeline, because no GEMM can accumulate the sum.
func TestRingSumsOfPartsThatAreThere(t *testing.T) {
	for _, d := range []int64{1, 2, 3} {
		for _, transport := range []string{"nccl", "ipc-get", "ipc-put"} {
			p := lowertest.Pipeline(t, d, "A: [DIDx, D, 2], P: [DIDx, Stream(D), 2], G: [Stream(3), 2], E: [3, 2], C: [DIDx, 2]",
				"P = relu(A), G = relu(E), C = sum(P, axis=0)")
			choose(&p.Schedule, "pipeline p2p, all.steps ring, all.via "+transport)
			keepsResult(t, p, 4)
			if choose(&p.Schedule, "all.fuse gemm"); d > 1 {
				wantRefused(t, p, "no GEMM makes the partial sums of C")
			}
		}
	}
}
