package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/lowertest"
)

// TestMovedAlongTheStreamAxisOfTheResult checks a tensor with a Stream axis over which its reader sums. The reader is
// itself a pipeline along another axis.
func TestMovedAlongTheStreamAxisOfTheResult(t *testing.T) {
	for _, choices := range []string{"", "pipeline p2p", "pipeline p2p, all.steps ring"} {
		p := lowertest.Pipeline(t, 2, "A: [2, 3, 4], C: [2, Stream(3), 4], E: [DIDx, Stream(4)]", "C = relu(A), E = sum(C, axis=1)")
		choose(&p.Schedule, choices)
		fit(p)
		keepsResult(t, p, 3)
	}
}

// TestWhatIsMadeInSlicesIsMultipliedWhole checks a gather along an inner row axis of a matmul operand. The matmul reads
// the rows in another order than that of the slices in memory.
func TestWhatIsMadeInSlicesIsMultipliedWhole(t *testing.T) {
	for _, transport := range []string{"nccl", "ipc-get", "ipc-put"} {
		p := lowertest.Pipeline(t, 3, "A: [6, DIDx, 4], G: [6, Stream(D), 4], V: [4, 2], C: [6, D, 2]", "G = set(A), C = matmul(G, V)")
		choose(&p.Schedule, "pipeline p2p, all.via "+transport)
		keepsResult(t, p, 4)
	}
}
